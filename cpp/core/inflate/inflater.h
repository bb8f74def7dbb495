// Inflates raw deflate data (RFC 1951), completely in memory or in parts of any size.
//
// Whatever the bytes, it touches nothing outside input and output, and rejects exactly what zlib rejects.
#pragma once

#include <memory>
#include <span>

#include "core/inflate/bit_reader.h"
#include "core/inflate/block_header.h"
#include "core/inflate/code_table.h"
#include "core/inflate/decode_loop.h"
#include "core/inflate/speculative_decoder.h"

namespace penstock::inflate {

// Why an inflater stopped.
enum class Stop { kDone, kDamaged, kNeedsInput, kNeedsOutput, kBlock };

// The entry of the next code, and the bits that it takes, including those of the root. Fewer may be available.
struct Found {
  std::uint32_t entry;
  unsigned root = 0;

  unsigned bits() const { return root + entry::bits(entry); }
  unsigned code_bits() const { return root + entry::code_bits(entry); }
};

class Inflater {
 public:
  Inflater()
      : own_codes_(std::make_unique_for_overwrite<BlockCodes>()),
        speculative_memory_(std::make_unique_for_overwrite<SpeculativeDecoder::Memory>()) {}

  // For all of the data, with an output of the expected size.
  Inflater(std::span<const std::byte> input, std::span<std::byte> output) : Inflater() {
    feed(input);
    write_to({output.data(), output.data(), output.data() + output.size()});
  }

  // Inflates everything. True if the data is valid, uses all input and fills all output.
  bool run() { return advance() == Stop::kDone && unread() == 0 && output_.next == output_.end; }

  // Runs both, interleaved, which is faster than one after the other. run() then returns immediately.
  static void run_interleaved(Inflater& one, Inflater& other);

  // Continues as far as input and output allow. When it needs input, it has read all there was.
  Stop advance();
  void feed(std::span<const std::byte> input) { input_ = {input.data(), input.data() + input.size()}; }
  void write_to(const Output& output) { output_ = output; }

  // Makes it stop once, where the next block starts; not at the one where it has stopped.
  void stop_at_block() { stop_at_block_ = true; }

  // Drops the first bits of the input, at most 7: the data starts after them.
  void skip_bits(unsigned bits);
  const Output& output() const { return output_; }

  // Bytes of the last input that were not read; once done, the bytes after the data.
  std::size_t unread() const { return static_cast<std::size_t>(input_.end - input_.next); }

  // Bits of all input that were not decoded.
  std::size_t undecoded_bits() const { return unread_bits(bits_, input_); }

 private:
  enum class State { kHeader, kCodes, kStoredSize, kStored, kSymbols, kDone, kDamaged };

  // Advances to where a fast loop can run. False if it stops before.
  bool advance_to_loop();
  DecodeLoop enter() const { return DecodeLoop(bits_, input_, output_, CopiedMatches(output_.begin), *codes_); }
  void leave(const DecodeLoop& loop, Step step);

  // Each continues with a fast loop.
  void run_alone();
  void run_speculatively();
  bool meet(const SpeculativeDecoder& speculative);

  // Each is a step. False if it needs more input or output.
  bool read_header();
  bool read_codes();
  bool read_stored_size();
  bool copy_stored();
  bool decode_symbol();
  bool decode_match(const Found& symbol);

  std::size_t output_left() const { return static_cast<std::size_t>(output_.end - output_.next); }
  bool stop_for(Stop what) {
    stop_reason_ = what;
    return false;
  }
  void end_block() { state_ = last_block_ ? State::kDone : State::kHeader; }

  State state_ = State::kHeader;
  Stop stop_reason_ = Stop::kNeedsInput;  // of the last stop for lack of input or output
  bool last_block_ = false;
  bool stop_at_block_ = false;  // the next one that it is not at
  bool at_block_ = false;       // stopped there
  std::size_t stored_left_ = 0;
  BitReader bits_;
  Input input_{};
  Output output_{};
  CodesReader codes_reader_;
  std::unique_ptr<BlockCodes> own_codes_;  // of a dynamic block
  const BlockCodes* codes_ = nullptr;      // of the current block
  std::unique_ptr<SpeculativeDecoder::Memory> speculative_memory_;
  unsigned failures_ = 0;     // of speculation, in a row
  std::ptrdiff_t alone_ = 0;  // bytes of input to decode without speculation
};

}  // namespace penstock::inflate
