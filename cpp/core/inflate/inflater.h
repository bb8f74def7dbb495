// Inflates raw deflate data (RFC 1951) that is whole in memory, into memory of the size that it is said to have.
//
// Whatever the bytes, nothing outside either is touched, and refused is what zlib refuses.
#pragma once

#include <memory>
#include <span>

#include "core/inflate/bits.h"
#include "core/inflate/code_table.h"
#include "core/inflate/lane.h"

namespace penstock::inflate {

class Inflater {
 public:
  Inflater(std::span<const std::byte> input, std::span<std::byte> output)
      : input_{input.data(), input.data() + input.size()},
        output_{output.data(), output.data(), output.data() + output.size()},
        own_codes_(std::make_unique_for_overwrite<BlockCodes>()) {}

  // Goes through the data. True where it is good, takes all of the input and fills all of the output.
  bool run();

  // Both at once, in turns: in less time than one after the other. run() then answers at once.
  static void run_in_turns(Inflater& one, Inflater& other);

 private:
  enum class State { kHeader, kSymbols, kDone, kDamaged };

  // Goes on to where a lane can, or to the end. False there.
  bool to_lane();
  Lane enter() const { return Lane(bits_, input_, output_, *codes_); }
  void leave(const Lane& lane, Step step);

  void read_header();
  void copy_stored();
  void decode_symbol();
  void end_block() { state_ = last_block_ ? State::kDone : State::kHeader; }

  State state_ = State::kHeader;
  bool last_block_ = false;
  Bits bits_;
  Input input_;
  Output output_;
  std::unique_ptr<BlockCodes> own_codes_;  // those that the block brought along
  const BlockCodes* codes_ = nullptr;      // the block's
};

}  // namespace penstock::inflate
