#include "core/buffer.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#ifndef _WIN32
#include <pthread.h>
#endif

namespace penstock {
namespace {

// The system allocator is fast below this size, and seldom returns fresh pages.
constexpr std::size_t kSmall = std::size_t{64} << 10;

// Rounds up to a multiple of an eighth of a power of two, so that buffers of similar sizes are interchangeable.
std::size_t rounded(std::size_t size) {
  const std::size_t step = std::bit_floor(size) / 8;
  return (size + step - 1) / step * step;
}

class BufferPool {
 public:
  // glibc returns memory at the top of its heap to the system; getting it back costs a page fault per 4 KiB, half of
  // the total time where large records become Python bytes one by one. Freeing one large block raises its threshold for
  // that. Pooled buffers are never freed and would not raise it.
  BufferPool() {
    void* volatile large = std::malloc(std::size_t{1} << 20);
    std::free(large);
  }

  std::unique_ptr<Buffer> take(std::size_t capacity) {
    const std::lock_guard lock(mutex_);
    lent_bytes_ += capacity;
    SizeClass& size_class = idle_[capacity];
    size_class.last_requested = ++requests_;
    if (size_class.buffers.empty()) return nullptr;
    std::unique_ptr<Buffer> buffer = std::move(size_class.buffers.back());
    size_class.buffers.pop_back();
    idle_bytes_ -= capacity;
    return buffer;
  }

  // Must not throw: a buffer that cannot be stored is freed.
  void put(std::unique_ptr<Buffer> buffer) noexcept try {
    const std::size_t capacity = buffer->capacity();
    std::vector<std::unique_ptr<Buffer>> evicted;  // freed after the pool is unlocked
    const std::lock_guard lock(mutex_);
    lent_bytes_ -= std::min(lent_bytes_, capacity);  // a forked child returns what its parent took
    const std::size_t most = std::max(kMaxIdleBytes, lent_bytes_);
    if (capacity > most) return;
    SizeClass& size_class = idle_[capacity];
    while (idle_bytes_ + capacity > most) evict_oldest(evicted);
    size_class.buffers.push_back(std::move(buffer));
    idle_bytes_ += capacity;
  } catch (const std::bad_alloc&) {
  }

 private:
  // Evicts a buffer of the size class that was requested least recently.
  void evict_oldest(std::vector<std::unique_ptr<Buffer>>& evicted) {
    auto oldest = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if (it->second.buffers.empty()) continue;
      if (oldest == idle_.end() || it->second.last_requested < oldest->second.last_requested) oldest = it;
    }
    idle_bytes_ -= oldest->first;
    evicted.push_back(std::move(oldest->second.buffers.back()));
    oldest->second.buffers.pop_back();
  }

  // Idle buffers of one size.
  struct SizeClass {
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::uint64_t last_requested = 0;
  };

  std::mutex mutex_;
  std::map<std::size_t, SizeClass> idle_;
  std::uint64_t requests_ = 0;
  std::size_t idle_bytes_ = 0;
  std::size_t lent_bytes_ = 0;
};

// Never destroyed: buffers may outlive everything else.
std::atomic<BufferPool*> current_pool = nullptr;

#ifndef _WIN32
// In a forked child, the lock of the parent's pool may be held forever: the child starts without a pool.
[[maybe_unused]] const int forgotten_in_children = pthread_atfork(nullptr, nullptr, [] { current_pool = nullptr; });
#endif

BufferPool& buffer_pool() {
  BufferPool* pool = current_pool.load(std::memory_order_acquire);
  if (pool == nullptr) {
    auto fresh = std::make_unique<BufferPool>();
    if (current_pool.compare_exchange_strong(pool, fresh.get())) pool = fresh.release();
  }
  return *pool;
}

}  // namespace

SharedBuffer acquire_buffer(std::size_t size) {
  if (size < kSmall) return std::make_shared<Buffer>(size == 0 ? 1 : size);
  if (size > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  const std::size_t capacity = rounded(size);
  std::unique_ptr<Buffer> buffer = buffer_pool().take(capacity);
  if (!buffer) buffer = std::make_unique<Buffer>(capacity);
  return SharedBuffer(buffer.release(), [](Buffer* b) { buffer_pool().put(std::unique_ptr<Buffer>(b)); });
}

}  // namespace penstock
