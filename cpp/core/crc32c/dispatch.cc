// Selects the CRC32C kernels that this CPU supports.
#include <array>

#include "core/crc32c/crc32c.h"
#include "core/crc32c/kernels.h"

namespace penstock {
namespace {

struct Available {
  std::array<Crc32cKernel, 3> kernels;
  std::size_t count = 0;

  Available() {
#ifdef PENSTOCK_CRC32C_SSE42
    if (detail::crc32c_vpclmul_supported()) kernels[count++] = {"vpclmul", detail::crc32c_vpclmul};
    if (detail::crc32c_sse42_supported()) kernels[count++] = {"sse42", detail::crc32c_sse42};
#endif
#ifdef PENSTOCK_CRC32C_ARMV8
    if (detail::crc32c_armv8_supported()) kernels[count++] = {"armv8", detail::crc32c_armv8};
#endif
    kernels[count++] = {"table", detail::crc32c_table};
  }
};

}  // namespace

std::span<const Crc32cKernel> crc32c_kernels() {
  static const Available available;
  return {available.kernels.data(), available.count};
}

const Crc32cKernel detail::crc32c_fastest = crc32c_kernels().front();

}  // namespace penstock
