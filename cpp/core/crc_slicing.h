// A portable, reflected 32-bit CRC: tables for eight bytes at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/little_endian.h"

namespace penstock::detail {

template <std::uint32_t kPolynomial>
class SlicedCrc {
 public:
  static std::uint32_t extend(std::uint32_t crc, const std::byte* data, std::size_t size) {
    // Built on first use: most CPUs have a faster kernel.
    static const Tables tables = make_tables();
    crc = ~crc;
    for (; size >= 8; data += 8, size -= 8) {
      const std::uint64_t word = load_le64(data) ^ crc;
      crc = 0;
      for (std::size_t k = 0; k < 8; ++k) crc ^= tables[7 - k][(word >> (8 * k)) & 0xFF];
    }
    for (; size > 0; ++data, --size) crc = (crc >> 8) ^ tables[0][(crc ^ static_cast<std::uint32_t>(*data)) & 0xFF];
    return ~crc;
  }

 private:
  using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

  static Tables make_tables() {
    Tables tables{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
      tables[0][i] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k)
      for (std::size_t i = 0; i < 256; ++i) tables[k][i] = (tables[k - 1][i] >> 8) ^ tables[0][tables[k - 1][i] & 0xFF];
    return tables;
  }
};

}  // namespace penstock::detail
