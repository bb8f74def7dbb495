// The portable kernel, for CPUs without a CRC32C instruction.
#include "core/crc32c/kernels.h"
#include "core/crc32c/polynomial.h"
#include "core/crc_slicing.h"

namespace penstock::detail {

std::uint32_t crc32c_table(std::uint32_t crc, const std::byte* data, std::size_t size) {
  return SlicedCrc<kPolynomial>::extend(crc, data, size);
}

}  // namespace penstock::detail
