// Copies to memory that is looked at later than the caches remember.
//
// An ordinary store reads a cache line before it writes to it, and pushes out another that is still of use. These
// write around the caches, where the CPU can: of memory that is gone through in no order, twice as fast.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__) || defined(_M_X64)
#include <emmintrin.h>
#endif

namespace penstock {

inline constexpr std::size_t kCacheLine = 64;

// Copies of less are better ordinary: they share the lines at their ends with others.
inline constexpr std::size_t kMinNontemporalBytes = 256;

constexpr std::size_t whole_lines(std::size_t size) { return (size + kCacheLine - 1) / kCacheLine * kCacheLine; }

// Other threads may look at the copies when this is gone.
class NontemporalCopies {
 public:
  NontemporalCopies() = default;
  NontemporalCopies(const NontemporalCopies&) = delete;
  NontemporalCopies& operator=(const NontemporalCopies&) = delete;

#if defined(__x86_64__) || defined(_M_X64)
  ~NontemporalCopies() { _mm_sfence(); }  // such stores keep no order, not even behind a lock

  // Lines of which only a part is copied, at both ends, are written as ever.
  void copy(std::byte* to, const std::byte* from, std::size_t size) {
    const std::size_t to_next_line = (kCacheLine - reinterpret_cast<std::uintptr_t>(to) % kCacheLine) % kCacheLine;
    const std::size_t head = to_next_line < size ? to_next_line : size;
    const std::size_t end = size - (size - head) % kCacheLine;
    if (head != 0) std::memcpy(to, from, head);
    for (std::size_t i = head; i < end; i += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    if (end != size) std::memcpy(to + end, from + end, size - end);
  }
#else
  ~NontemporalCopies() {}
  void copy(std::byte* to, const std::byte* from, std::size_t size) { std::memcpy(to, from, size); }
#endif
};

inline void copy_by(NontemporalCopies* nontemporal, std::byte* to, const std::byte* from, std::size_t size) {
  if (nontemporal != nullptr)
    nontemporal->copy(to, from, size);
  else
    std::memcpy(to, from, size);
}

}  // namespace penstock
