// How varints are decoded once it is known where they end: a portable way, and ways for CPUs that can do better.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#if defined(__x86_64__) && !defined(_MSC_VER)
#define PENSTOCK_VARINT_AVX2 1
#endif

namespace penstock {

// So many bytes before a kernel's limit may be looked at, whatever they are.
inline constexpr std::size_t kVarintReach = 16;

// So many values behind those that are decoded may be written over.
inline constexpr std::size_t kVarintSlack = 3;

// Decodes the values of the up to 64 bytes at `p`: bit i of `ends` is set where byte i ends one, and some bit is. No
// byte at or behind `limit` is looked at. Answers how many bytes the values take and moves `out` behind them, or
// answers kMalformedRun.
using DecodeEnds = std::size_t (*)(const std::byte* p, const std::byte* limit, std::uint64_t ends, std::int64_t*& out);

struct VarintKernel {
  const char* name;
  DecodeEnds decode;
};

// Those that this CPU can execute, the fastest first.
std::span<const VarintKernel> varint_kernels();

namespace detail {

#ifdef PENSTOCK_VARINT_AVX2
bool varint_avx2_supported();
std::size_t varint_avx2(const std::byte* p, const std::byte* limit, std::uint64_t ends, std::int64_t*& out);
#endif

}  // namespace detail
}  // namespace penstock
