// Kernels that decode varints whose ends are known: a portable one, and faster ones for some CPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#if defined(__x86_64__) && !defined(_MSC_VER)
#define PENSTOCK_VARINT_AVX2 1
#endif

namespace penstock {

// A kernel may read this many bytes before its limit.
inline constexpr std::size_t kVarintReach = 16;

// A kernel may overwrite this many values after those that it decodes.
inline constexpr std::size_t kVarintSlack = 3;

// Decodes the values of up to 64 bytes at `p`: bit i of `ends` is set if byte i ends a value, and at least one bit is.
// Reads no byte at or after `limit`. Returns the number of bytes that the values take and moves `out` after them, or
// returns kMalformedRun.
using DecodeEnds = std::size_t (*)(const std::byte* p, const std::byte* limit, std::uint64_t ends, std::int64_t*& out);

struct VarintKernel {
  const char* name;
  DecodeEnds decode;
};

// The kernels that this CPU supports, fastest first.
std::span<const VarintKernel> varint_kernels();

namespace detail {

#ifdef PENSTOCK_VARINT_AVX2
bool varint_avx2_supported();
std::size_t varint_avx2(const std::byte* p, const std::byte* limit, std::uint64_t ends, std::int64_t*& out);
#endif

}  // namespace detail
}  // namespace penstock
