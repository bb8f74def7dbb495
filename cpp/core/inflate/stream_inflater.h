// Inflates raw deflate data of any size that comes in parts, into pieces of a bounded size.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "core/inflate/inflater.h"
#include "core/inflate/piece.h"

namespace penstock::inflate {

class StreamInflater {
 public:
  // More of the data, where it needs some. It must stay until all of it is read.
  void feed(std::span<const std::byte> input) { inflater_.feed(input); }

  // What comes next, up to the next stop.
  Piece next() {
    Piece piece{acquire_buffer(kHeadroom + kPieceBytes), kHeadroom, kHeadroom};
    std::byte* const begin = piece.buffer->data() + kHeadroom;
    std::memcpy(begin - known_, window_.data(), known_);
    inflater_.write_to({begin - known_, begin, begin + kPieceBytes});
    stop_ = inflater_.advance();
    const std::byte* const end = inflater_.output().next;
    piece.end += static_cast<std::size_t>(end - begin);
    // Whoever gets the piece may write before its bytes: what the next one can refer to is kept apart.
    known_ = std::min(known_ + static_cast<std::size_t>(end - begin), window_.size());
    std::memcpy(window_.data(), end - known_, known_);
    return piece;
  }

  // Why the last piece is no longer.
  Stop stop() const { return stop_; }
  bool needs_input() const { return stop_ == Stop::kNeedsInput && unread() == 0; }

  // Bytes of the last input that are not read; behind the data, where it is done.
  std::size_t unread() const { return inflater_.unread(); }

 private:
  // A piece stays in the caches from the inflater to the last checksum.
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
  static_assert(kHeadroom >= kWindowBytes);

  Inflater inflater_;
  Stop stop_ = Stop::kNeedsInput;
  std::array<std::byte, kWindowBytes> window_;  // the end of what came out
  std::size_t known_ = 0;                       // bytes in it
};

}  // namespace penstock::inflate
