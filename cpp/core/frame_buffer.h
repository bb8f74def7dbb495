// Output frames: payloads are appended, and the framed bytes are taken in one piece.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>

#include "core/buffer.h"
#include "core/frame.h"

namespace penstock {

// Bytes of consecutive frames in a buffer.
struct Frames {
  SharedBuffer buffer;
  std::size_t size = 0;
};

class FrameBuffer {
 public:
  // Frames are taken at about `usual` bytes: with a little more at the start, a buffer rarely grows.
  explicit FrameBuffer(std::size_t usual = std::size_t{1} << 20) : first_capacity_(usual + usual / 8) {}

  void append(std::span<const std::byte> payload) {
    std::byte* frame = next_frame(payload.size());
    copy_payload(frame, payload);
    add_frame(payload.size());
  }

  // Frames a payload of `size` bytes, which write(out) produces. It may overwrite kSlack bytes after them. If it
  // returns false, no frame is added, and this returns false.
  static constexpr std::size_t kSlack = 16;
  template <typename Write>
  bool append_written(std::size_t size, Write&& write) {
    std::byte* frame = next_frame(size);
    if (!write(frame + kHeaderBytes)) return false;
    write_footer(frame, size);
    add_frame(size);
    return true;
  }

  std::span<const std::byte> bytes() const { return {frames_.buffer ? frames_.buffer->data() : nullptr, frames_.size}; }
  std::size_t size() const { return frames_.size; }
  std::size_t count() const { return count_; }

  // Gives away the frames with their memory, and starts over.
  Frames release() {
    count_ = 0;
    return std::exchange(frames_, Frames{});
  }

 private:
  // Reserves memory for a frame and writes its header.
  std::byte* next_frame(std::size_t size) {
    reserve(kFrameOverhead + size + kSlack);
    std::byte* frame = frames_.buffer->data() + frames_.size;
    write_header(frame, size);
    return frame;
  }

  void add_frame(std::size_t size) {
    frames_.size += kFrameOverhead + size;
    ++count_;
  }

  void reserve(std::size_t more) {
    const std::size_t size = frames_.size;
    if (frames_.buffer && size + more <= frames_.buffer->capacity()) return;
    SharedBuffer larger = acquire_buffer(std::max({size + more, size + size / 2, first_capacity_}));
    if (size != 0) std::memcpy(larger->data(), frames_.buffer->data(), size);
    frames_.buffer = std::move(larger);
  }

  Frames frames_;
  std::size_t count_ = 0;
  std::size_t first_capacity_;
};

}  // namespace penstock
