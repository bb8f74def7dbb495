// The ARM64 kernel: the CRC32 instruction.
#include "core/crc32/kernels.h"

#ifdef PENSTOCK_CRC32_ARMV8

#include <arm_acle.h>

#include "core/little_endian.h"

#ifdef __clang__
#define PENSTOCK_CRC_TARGET __attribute__((target("crc")))
#else
#define PENSTOCK_CRC_TARGET __attribute__((target("+crc")))
#endif

namespace penstock::detail {

PENSTOCK_CRC_TARGET std::uint32_t crc32_armv8(std::uint32_t crc, const std::byte* data, std::size_t size) {
  crc = ~crc;
  for (; size >= 8; data += 8, size -= 8) crc = __crc32d(crc, load_le64(data));
  for (; size > 0; ++data, --size) crc = __crc32b(crc, static_cast<std::uint8_t>(*data));
  return ~crc;
}

}  // namespace penstock::detail

#endif  // PENSTOCK_CRC32_ARMV8
