// Checksums of concatenated data from those of its parts, and the reverse, without reading the bytes again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/crc32c/polynomial.h"

namespace penstock {
namespace detail {

constexpr std::uint32_t kOne = 0x80000000u;

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = times_x(b);
  }
  return product;
}

// kBytePowers[k] = x^(8 * 2^k) mod P.
inline constexpr auto kBytePowers = [] {
  std::array<std::uint32_t, 64> powers{};
  std::uint32_t power = kOne >> 8;
  for (std::uint32_t& entry : powers) {
    entry = power;
    power = multiply(power, power);
  }
  return powers;
}();

}  // namespace detail

// Returns the checksum of the last `size` bytes, given that of the bytes before them and that of both together.
constexpr std::uint32_t crc32c_suffix(std::uint32_t both, std::uint32_t before, std::uint64_t size) {
  for (std::size_t k = 0; size != 0; ++k, size >>= 1)
    if ((size & 1) != 0) before = detail::multiply(detail::kBytePowers[k], before);
  return both ^ before;
}

// The factor for a checksum that is followed by `size` bytes: x^(8 * size) mod P.
constexpr std::uint32_t crc32c_power(std::uint64_t size) { return crc32c_suffix(0, detail::kOne, size); }

// Returns the checksum of two parts together; `power` is crc32c_power() of the size of the second.
constexpr std::uint32_t crc32c_combine(std::uint32_t before, std::uint32_t rest, std::uint32_t power) {
  return detail::multiply(power, before) ^ rest;
}

}  // namespace penstock
