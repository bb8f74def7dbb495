// Aligned memory that many may look at, given out again when nobody does any more.
//
// Memory that somebody still looks at is never reused: a buffer goes back to the shelf when its last owner lets go.
// Reuse matters: fresh pages cost about as much as reading them from the page cache.
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

// A buffer of at least `size` bytes, and at most an eighth more. Large ones come from a shelf that the whole process
// shares and that keeps at most kMaxIdleBytes, or as much as is in use where that is more. Thread-safe, and safe in a
// forked child: nobody waits for the shelf for long.
inline constexpr std::size_t kMaxIdleBytes = std::size_t{96} << 20;
SharedBuffer acquire_buffer(std::size_t size);

}  // namespace penstock
