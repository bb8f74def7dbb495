// Aligned memory that many may look at, and a pool that gives it out again.
//
// A buffer goes back to its pool when its last owner lets go, so memory that somebody still looks at is never reused.
// Thread-safe. Reuse matters: fresh pages cost about as much as reading them from the page cache.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

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

// Keeps at most `keep` idle buffers. Outlives itself: buffers still out there hold its shelf.
class BufferPool {
 public:
  explicit BufferPool(std::size_t keep) : shelf_(std::make_shared<Shelf>(keep)) {}

  // A buffer of at least `size` bytes: an idle one where that wastes less than half of it, else a new one.
  SharedBuffer acquire(std::size_t size) {
    std::unique_ptr<Buffer> buffer = shelf_->take(size);
    if (!buffer) buffer = std::make_unique<Buffer>(size);
    return SharedBuffer(buffer.release(), [shelf = shelf_](Buffer* b) { shelf->put(std::unique_ptr<Buffer>(b)); });
  }

 private:
  struct Shelf {
    explicit Shelf(std::size_t most) : keep(most) { idle.reserve(keep); }

    std::unique_ptr<Buffer> take(std::size_t size) {
      const std::lock_guard lock(mutex);
      for (std::size_t i = idle.size(); i-- > 0;) {
        if (idle[i]->capacity() < size || idle[i]->capacity() / 2 > size) continue;
        std::unique_ptr<Buffer> found = std::move(idle[i]);
        idle[i] = std::move(idle.back());
        idle.pop_back();
        return found;
      }
      return nullptr;
    }

    // The newest stay: a shelf full of sizes that nobody asks for any more would be of no use.
    void put(std::unique_ptr<Buffer> buffer) {
      const std::lock_guard lock(mutex);
      if (idle.size() == keep) idle.erase(idle.begin());
      idle.push_back(std::move(buffer));
    }

    std::mutex mutex;
    std::vector<std::unique_ptr<Buffer>> idle;
    const std::size_t keep;
  };

  std::shared_ptr<Shelf> shelf_;
};

}  // namespace penstock
