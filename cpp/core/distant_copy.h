// Copies to memory that is looked at later than the caches remember.
//
// An ordinary store reads a cache line before it writes to it, and pushes out another that is still of use. These
// write around the caches, where the CPU can: of memory that is gone through in no order, twice as fast.
#pragma once

#include <cstddef>
#include <cstring>

#if defined(__x86_64__) || defined(_M_X64)
#include <emmintrin.h>
#endif

namespace penstock {

inline constexpr std::size_t kCacheLine = 64;

constexpr std::size_t whole_lines(std::size_t size) { return (size + kCacheLine - 1) / kCacheLine * kCacheLine; }

// Other threads may look at the copies when this is gone.
class DistantCopies {
 public:
  DistantCopies() = default;
  DistantCopies(const DistantCopies&) = delete;
  DistantCopies& operator=(const DistantCopies&) = delete;

#if defined(__x86_64__) || defined(_M_X64)
  ~DistantCopies() { _mm_sfence(); }  // such stores keep no order, not even behind a lock

  // `to` is the start of a cache line. Whole lines are copied: as many bytes must be there at both ends.
  void copy(std::byte* to, const std::byte* from, std::size_t size) {
    for (std::size_t i = 0; i < size; i += kCacheLine)
      for (std::size_t word = i; word < i + kCacheLine; word += sizeof(__m128i))
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + word),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + word)));
  }
#else
  ~DistantCopies() {}
  void copy(std::byte* to, const std::byte* from, std::size_t size) { std::memcpy(to, from, size); }
#endif
};

}  // namespace penstock
