// The x86-64 kernel: the SSE4.2 CRC32 instruction on three streams, joined by PCLMULQDQ.
#include "core/crc32c/kernels.h"

#ifdef PENSTOCK_CRC32C_SSE42

#include <immintrin.h>

#include "core/crc32c/polynomial.h"
#include "core/little_endian.h"

// The instructions are enabled for these functions only, never for a whole file: the linker could otherwise keep a copy
// of an inline standard function that needs them.
#ifdef _MSC_VER
#include <intrin.h>
#define PENSTOCK_CRC_TARGET
#else
#define PENSTOCK_CRC_TARGET __attribute__((target("sse4.2,pclmul")))
#endif

namespace penstock::detail {
namespace {

#include "core/crc32c/x86_streams.inl"

}  // namespace

bool crc32c_sse42_supported() {
#ifdef _MSC_VER
  int info[4];
  __cpuid(info, 1);
  return (info[2] & (1 << 20)) != 0 && (info[2] & (1 << 1)) != 0;
#else
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0;
#endif
}

std::uint32_t crc32c_sse42(std::uint32_t crc, const std::byte* data, std::size_t size) {
  return three_streams(crc, data, size);
}

}  // namespace penstock::detail

#endif  // PENSTOCK_CRC32C_SSE42
