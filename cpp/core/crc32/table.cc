// The portable kernel: slicing by 8.
#include <array>

#include "core/bytes.h"
#include "core/crc32/kernels.h"

namespace penstock::detail {
namespace {

constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320u : 0);
    tables[0][i] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t i = 0; i < 256; ++i) tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xFF];
  return tables;
}();

}  // namespace

std::uint32_t crc32_table(std::uint32_t crc, const std::byte* data, std::size_t size) {
  crc = ~crc;
  for (; size >= 8; data += 8, size -= 8) {
    const std::uint64_t word = load_le64(data) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; size > 0; ++data, --size) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(*data)) & 0xFF];
  return ~crc;
}

}  // namespace penstock::detail
