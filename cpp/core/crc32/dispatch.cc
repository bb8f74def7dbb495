// Selects the CRC-32 kernels that this CPU supports.
#include <array>

#include "core/crc32/crc32.h"
#include "core/crc32/kernels.h"
#include "core/crc32c/kernels.h"

namespace penstock {
namespace {

// They require the same CPU features as the CRC32C kernels.
struct Available {
  std::array<Crc32Kernel, 2> kernels;
  std::size_t count = 0;

  Available() {
#ifdef PENSTOCK_CRC32_PCLMUL
    if (detail::crc32c_sse42_supported()) kernels[count++] = {"pclmul", detail::crc32_pclmul};
#endif
#ifdef PENSTOCK_CRC32_ARMV8
    if (detail::crc32c_armv8_supported()) kernels[count++] = {"armv8", detail::crc32_armv8};
#endif
    kernels[count++] = {"table", detail::crc32_table};
  }
};

}  // namespace

std::span<const Crc32Kernel> crc32_kernels() {
  static const Available available;
  return {available.kernels.data(), available.count};
}

std::uint32_t crc32(std::span<const std::byte> data) {
  return crc32_kernels().front().extend(0, data.data(), data.size());
}

}  // namespace penstock
