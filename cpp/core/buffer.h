// Aligned, shared memory from a process-wide pool.
//
// A buffer returns to the pool when its last owner releases it; memory that is still referenced is never reused. Reuse
// matters: fresh pages cost about as much as reading them from the page cache.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace penstock {

class Buffer {
 public:
  static constexpr std::align_val_t kAlignment{64};

  explicit Buffer(std::size_t capacity)
      : data_(static_cast<std::byte*>(::operator new(capacity, kAlignment))), capacity_(capacity) {}
  ~Buffer() { ::operator delete(data_, kAlignment); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }

 private:
  std::byte* data_;
  std::size_t capacity_;
};

using SharedBuffer = std::shared_ptr<Buffer>;

// Returns a buffer of at least `size` bytes and at most an eighth more. Large ones come from a process-wide pool, which
// holds at most kMaxIdleBytes, or as much as is in use if that is more. Thread-safe, and safe in a forked child: no
// caller blocks on the pool for long.
inline constexpr std::size_t kMaxIdleBytes = std::size_t{96} << 20;
SharedBuffer acquire_buffer(std::size_t size);

}  // namespace penstock
