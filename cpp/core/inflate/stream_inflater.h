// Inflates raw deflate data that arrives in parts, into pieces of bounded size.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "core/inflate/inflater.h"
#include "core/inflate/piece.h"

namespace penstock::inflate {

class StreamInflater {
 public:
  // Adds input, if it is needed. It must stay valid until all of it is read.
  void feed(std::span<const std::byte> input) {
    fed_ += input.size();
    inflater_.feed(input);
  }

  // Makes a piece end where the next block starts.
  void stop_at_block() { inflater_.stop_at_block(); }

  // Bits of all input that were decoded.
  std::size_t decoded_bits() const { return fed_ * 8 - inflater_.undecoded_bits(); }

  // The end of the output so far, as much as later data can refer to.
  std::span<const std::byte> window() const { return {window_.data(), known_}; }

  // Returns the next piece, up to the next stop.
  Piece next() {
    Piece piece{acquire_buffer(kHeadroom + kPieceBytes), kHeadroom, kHeadroom};
    std::byte* const begin = piece.buffer->data() + kHeadroom;
    std::memcpy(begin - known_, window_.data(), known_);
    inflater_.write_to({begin - known_, begin, begin + kPieceBytes});
    stop_ = inflater_.advance();
    const std::byte* const end = inflater_.output().next;
    piece.end += static_cast<std::size_t>(end - begin);
    // The receiver may overwrite the bytes before the piece, so the window is kept separately.
    known_ = std::min(known_ + static_cast<std::size_t>(end - begin), window_.size());
    std::memcpy(window_.data(), end - known_, known_);
    return piece;
  }

  // Why the last piece ended.
  Stop stop() const { return stop_; }
  bool needs_input() const { return stop_ == Stop::kNeedsInput && unread() == 0; }

  // Bytes of the last input that were not read; once done, the bytes after the data.
  std::size_t unread() const { return inflater_.unread(); }

 private:
  // A piece stays in the cache from the inflater to the last checksum.
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
  static_assert(kHeadroom >= kWindowBytes);

  Inflater inflater_;
  Stop stop_ = Stop::kNeedsInput;
  std::array<std::byte, kWindowBytes> window_;  // the end of the output so far
  std::size_t known_ = 0;                       // bytes in it
  std::size_t fed_ = 0;
};

}  // namespace penstock::inflate
