#include "tests/memory.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace penstock::tests {
namespace {

std::atomic<std::size_t> live{0}, peak{0};
bool guard_next = false;

void* counted(void* p) {
  if (p == nullptr) throw std::bad_alloc();
  const std::size_t now = live += malloc_usable_size(p);
  std::size_t known = peak;
  while (now > known && !peak.compare_exchange_weak(known, now)) {
  }
  return p;
}

// Pages followed by an unmapped one.
struct GuardedPages {
  static constexpr std::size_t kSize = std::size_t{1} << 20;
  std::byte* begin;
  GuardedPages() {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* pages = mmap(nullptr, kSize + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) std::abort();
    begin = static_cast<std::byte*>(pages);
    if (mprotect(begin + kSize, page, PROT_NONE) != 0) std::abort();
  }
  bool holds(const void* p) const { return p >= begin && p <= begin + kSize; }
};

GuardedPages& guarded_pages() {
  static GuardedPages pages;
  return pages;
}

void release(void* p) {
  if (p == nullptr || guarded_pages().holds(p)) return;
  live -= malloc_usable_size(p);
  std::free(p);
}

}  // namespace

std::size_t allocated_bytes() { return live; }
std::size_t peak_bytes() { return peak; }
void restart_peak() { peak = live.load(); }

SharedBuffer place_input(std::span<const std::byte> bytes, bool guarded) {
  guard_next = guarded && bytes.size() <= GuardedPages::kSize;
  auto buffer = std::make_shared<Buffer>(bytes.size());
  guard_next = false;
  if (!bytes.empty()) std::memcpy(buffer->data(), bytes.data(), bytes.size());
  return buffer;
}

}  // namespace penstock::tests

void* operator new(std::size_t size) { return penstock::tests::counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  using namespace penstock::tests;
  if (guard_next) return guarded_pages().begin + GuardedPages::kSize - size;
  void* p = nullptr;
  // Not aligned_alloc: it requires sizes in whole alignments, and an extra byte would hide an out-of-bounds read.
  if (posix_memalign(&p, static_cast<std::size_t>(alignment), size) != 0) p = nullptr;
  return counted(p);
}
// The sanitizer's own versions would not match the others here.
void* operator new[](std::size_t size) { return penstock::tests::counted(std::malloc(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* p = std::malloc(size);
  return p == nullptr ? p : penstock::tests::counted(p);
}
void operator delete[](void* p) noexcept { penstock::tests::release(p); }
void operator delete[](void* p, std::size_t) noexcept { penstock::tests::release(p); }
void operator delete(void* p) noexcept { penstock::tests::release(p); }
void operator delete(void* p, std::size_t) noexcept { penstock::tests::release(p); }
void operator delete(void* p, std::align_val_t) noexcept { penstock::tests::release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { penstock::tests::release(p); }
