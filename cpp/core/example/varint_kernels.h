// How varints are decoded once it is known where they end: a portable way, and ways for CPUs that can do better.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#if defined(__x86_64__) && !defined(_MSC_VER)
#define PENSTOCK_VARINT_BMI2 1
#endif

namespace penstock {

// Decodes the values of the up to 64 bytes at `p`: bit i of `ends` is set where byte i ends one. Seven bytes behind
// them may be looked at. Answers how many bytes the values take and moves `out` behind them, or answers kBadRun.
using DecodeEnds = std::size_t (*)(const std::byte* p, std::uint64_t ends, std::int64_t*& out);

struct VarintKernel {
  const char* name;
  DecodeEnds decode;
};

// Those that this CPU can execute, the fastest first.
std::span<const VarintKernel> varint_kernels();

namespace detail {

#ifdef PENSTOCK_VARINT_BMI2
bool varint_bmi2_supported();
std::size_t varint_bmi2(const std::byte* p, std::uint64_t ends, std::int64_t*& out);
#endif

}  // namespace detail
}  // namespace penstock
