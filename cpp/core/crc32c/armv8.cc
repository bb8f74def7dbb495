// The ARM64 kernel: the CRC32C instruction on three streams, joined by PMULL.
#include "core/crc32c/kernels.h"

#ifdef PENSTOCK_CRC32C_ARMV8

#include <arm_acle.h>
#include <arm_neon.h>

#ifdef __APPLE__
#include <sys/sysctl.h>
#else
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "core/crc32c/polynomial.h"
#include "core/little_endian.h"

#ifdef __clang__
#define PENSTOCK_CRC_TARGET __attribute__((target("crc,aes")))
#else
#define PENSTOCK_CRC_TARGET __attribute__((target("+crc+crypto")))
#endif

namespace penstock::detail {
namespace {

PENSTOCK_CRC_TARGET inline std::uint64_t crc_u64(std::uint64_t crc, std::uint64_t word) {
  return __crc32cd(static_cast<std::uint32_t>(crc), word);
}

PENSTOCK_CRC_TARGET inline std::uint32_t crc_u8(std::uint32_t crc, std::uint8_t byte) { return __crc32cb(crc, byte); }

PENSTOCK_CRC_TARGET inline std::uint64_t clmul(std::uint64_t a, std::uint64_t b) {
  const poly128_t product = vmull_p64(static_cast<poly64_t>(a), static_cast<poly64_t>(b));
  return static_cast<std::uint64_t>(product);
}

#include "core/crc32c/three_streams.inl"

}  // namespace

bool crc32c_armv8_supported() {
#ifdef __APPLE__
  int crc = 0, pmull = 0;
  std::size_t size = sizeof(int);
  sysctlbyname("hw.optional.armv8_crc32", &crc, &size, nullptr, 0);
  size = sizeof(int);
  sysctlbyname("hw.optional.arm.FEAT_PMULL", &pmull, &size, nullptr, 0);
  return crc != 0 && pmull != 0;
#else
  const unsigned long caps = getauxval(AT_HWCAP);
  return (caps & HWCAP_CRC32) != 0 && (caps & HWCAP_PMULL) != 0;
#endif
}

std::uint32_t crc32c_armv8(std::uint32_t crc, const std::byte* data, std::size_t size) {
  return three_streams(crc, data, size);
}

}  // namespace penstock::detail

#endif  // PENSTOCK_CRC32C_ARMV8
