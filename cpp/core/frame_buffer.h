// Frames on their way out: payloads are appended, framed bytes are taken in one piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

#include "core/buffer.h"
#include "core/frame.h"

namespace penstock {

class FrameBuffer {
 public:
  void append(std::span<const std::byte> payload) {
    append_written(payload.size(), [&](std::byte* out) {
      if (!payload.empty()) std::memcpy(out, payload.data(), payload.size());
      return true;
    });
  }

  // Frames a payload of `size` bytes that write(out) puts in place. It may scribble on kSlack bytes behind them; where
  // it answers false, there is no frame, and this answers false too.
  static constexpr std::size_t kSlack = 16;
  template <typename Write>
  bool append_written(std::size_t size, Write&& write) {
    reserve(kFrameOverhead + size + kSlack);
    std::byte* frame = buffer_->data() + size_;
    write_header(frame, size);
    if (!write(frame + kHeaderBytes)) return false;
    write_footer(frame, size);
    size_ += kFrameOverhead + size;
    ++count_;
    return true;
  }

  std::span<const std::byte> bytes() const { return {buffer_ ? buffer_->data() : nullptr, size_}; }
  std::size_t size() const { return size_; }
  std::size_t count() const { return count_; }

  // Gives the frames away, memory and all, and starts afresh.
  SharedBuffer release() {
    size_ = 0;
    count_ = 0;
    return std::move(buffer_);
  }

 private:
  // Frames are taken at about 1 MiB: with this much room at the start, a buffer rarely grows.
  static constexpr std::size_t kFirstCapacity = (std::size_t{1} << 20) + (std::size_t{1} << 17);

  void reserve(std::size_t more) {
    if (buffer_ && size_ + more <= buffer_->capacity()) return;
    SharedBuffer larger = acquire_buffer(std::max({size_ + more, size_ + size_ / 2, kFirstCapacity}));
    if (size_ != 0) std::memcpy(larger->data(), buffer_->data(), size_);
    buffer_ = std::move(larger);
  }

  SharedBuffer buffer_;
  std::size_t size_ = 0;
  std::size_t count_ = 0;
};

}  // namespace penstock
