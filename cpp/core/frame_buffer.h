// Frames on their way out: payloads are appended, framed bytes are taken in one piece.
//
// The checksums of payloads are written last, so that another thread can do it: the one that hands the bytes to the
// operating system, which reads them anyway.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "core/buffer.h"
#include "core/bytes.h"
#include "core/frame.h"

namespace penstock {

// Bytes of frames that follow each other in a buffer.
struct Frames {
  SharedBuffer buffer;
  std::size_t size = 0;
  std::size_t sealed = 0;  // up to here, payloads have their checksums

  void seal() {
    while (sealed < size) {
      std::byte* frame = buffer->data() + sealed;
      const auto length = static_cast<std::size_t>(load_le64(frame));
      write_footer(frame, length);
      sealed += kFrameOverhead + length;
    }
  }
};

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
    std::byte* frame = frames_.buffer->data() + frames_.size;
    write_header(frame, size);
    if (!write(frame + kHeaderBytes)) return false;
    frames_.size += kFrameOverhead + size;
    ++count_;
    return true;
  }

  std::span<const std::byte> bytes() {
    frames_.seal();
    return {frames_.buffer ? frames_.buffer->data() : nullptr, frames_.size};
  }
  std::size_t size() const { return frames_.size; }
  std::size_t count() const { return count_; }

  // Gives the frames away, memory and all, and starts afresh.
  Frames release() {
    count_ = 0;
    return std::exchange(frames_, Frames{});
  }

 private:
  // Frames are taken at about 1 MiB: with this much room at the start, a buffer rarely grows.
  static constexpr std::size_t kFirstCapacity = (std::size_t{1} << 20) + (std::size_t{1} << 17);

  void reserve(std::size_t more) {
    const std::size_t size = frames_.size;
    if (frames_.buffer && size + more <= frames_.buffer->capacity()) return;
    SharedBuffer larger = acquire_buffer(std::max({size + more, size + size / 2, kFirstCapacity}));
    if (size != 0) std::memcpy(larger->data(), frames_.buffer->data(), size);
    frames_.buffer = std::move(larger);
  }

  Frames frames_;
  std::size_t count_ = 0;
};

}  // namespace penstock
