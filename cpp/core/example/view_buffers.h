// The buffers that the views of a batch refer to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "core/chunk.h"

namespace penstock {

// The buffers that the views of a batch refer to, by number. Thread-safe.
class ViewBuffers {
 public:
  std::int32_t add(SharedBuffer buffer) {
    const std::lock_guard lock(mutex_);
    return append(std::move(buffer));
  }
  // Returns the number of a buffer, which is added if it is new.
  std::int32_t number_of(const SharedBuffer& buffer) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = buffers_.size(); i-- > 0;)
      if (buffers_[i] == buffer) return static_cast<std::int32_t>(i);
    return append(buffer);
  }
  std::vector<SharedBuffer> all() {
    const std::lock_guard lock(mutex_);
    return buffers_;
  }

 private:
  std::int32_t append(SharedBuffer buffer) {
    buffers_.push_back(std::move(buffer));
    return static_cast<std::int32_t>(buffers_.size()) - 1;
  }

  std::mutex mutex_;
  std::vector<SharedBuffer> buffers_;
};

// While a run is decoded, its views into chunk `i` have this number instead of a buffer's.
inline std::int32_t number_of_chunk(std::size_t i) { return -1 - static_cast<std::int32_t>(i); }

// Gives the views in `arrays` that refer to `chunks` the number of a buffer of the batch. Releases chunks without
// views, and copies the values if they are a small part of a chunk: a few names must not keep the memory of the images
// next to them alive. Returns the bytes that are kept alive.
std::size_t assign_view_buffers(std::span<const std::span<std::byte>> arrays, std::span<const Chunk> chunks,
                                ViewBuffers& buffers);

}  // namespace penstock
