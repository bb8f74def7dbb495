// Aligned, shared memory from a process-wide pool.
//
// A buffer returns to the pool when its last owner releases it; memory that is still referenced is never reused. Reuse
// matters: fresh pages cost about as much as reading them from the page cache.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace penstock {

class Buffer {
 public:
  static constexpr std::align_val_t kAlignment{64};

  explicit Buffer(std::size_t capacity)
      : data_(static_cast<std::byte*>(::operator new(capacity, kAlignment))), capacity_(capacity) {}
  // A part of another buffer, which must outlive it.
  Buffer(Buffer& whole, std::size_t offset, std::size_t capacity)
      : data_(whole.data() + offset), capacity_(capacity), owned_(false) {}
  ~Buffer() {
    if (owned_) ::operator delete(data_, kAlignment);
  }
  Buffer(Buffer&& other) noexcept
      : data_(other.data_), capacity_(other.capacity_), owned_(std::exchange(other.owned_, false)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }

 private:
  std::byte* data_;
  std::size_t capacity_;
  bool owned_ = true;
};

using SharedBuffer = std::shared_ptr<Buffer>;

// Returns how many bytes a buffer of `size` bytes takes in a BufferArray.
constexpr std::size_t aligned_size(std::size_t size) {
  constexpr auto alignment = static_cast<std::size_t>(Buffer::kAlignment);
  return (size + alignment - 1) / alignment * alignment;
}

// Buffers that follow each other in the memory of one: two allocations for all columns of a batch.
class BufferArray {
 public:
  // `memory` has the buffers from `offset` on; at most `most` are taken.
  BufferArray(SharedBuffer memory, std::size_t offset, std::size_t most) : memory_(std::move(memory)), next_(offset) {
    buffers_.reserve(most);
  }

  // Returns the next `size` bytes, which keep the array alive. `self` is this array.
  static SharedBuffer take(const std::shared_ptr<BufferArray>& self, std::size_t size) {
    Buffer& buffer = self->buffers_.emplace_back(*self->memory_, self->next_, size);
    self->next_ += aligned_size(size);
    return SharedBuffer(self, &buffer);
  }

 private:
  SharedBuffer memory_;
  std::vector<Buffer> buffers_;
  std::size_t next_;
};

// Returns a buffer of at least `size` bytes and at most an eighth more. Large ones come from a process-wide pool, which
// holds at most kMaxIdleBytes, or as much as is in use if that is more. Thread-safe; a forked child has a new pool.
inline constexpr std::size_t kMaxIdleBytes = std::size_t{96} << 20;
SharedBuffer acquire_buffer(std::size_t size);

}  // namespace penstock
