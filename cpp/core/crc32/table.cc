// The portable kernel, for CPUs without carry-less products or a CRC-32 instruction.
#include "core/crc32/kernels.h"
#include "core/crc_slicing.h"

namespace penstock::detail {

std::uint32_t crc32_table(std::uint32_t crc, const std::byte* data, std::size_t size) {
  return SlicedCrc<0xEDB88320u>::extend(crc, data, size);
}

}  // namespace penstock::detail
