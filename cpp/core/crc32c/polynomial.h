// Arithmetic on polynomials modulo CRC32C's, bit-reflected: bit i of a word is the coefficient of x^(31-i).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::detail {

inline constexpr std::uint32_t kPolynomial = 0x82F63B78u;

constexpr std::uint32_t times_x(std::uint32_t a) { return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0); }

constexpr std::uint32_t divided_by_x(std::uint32_t a) {
  return (a & 0x80000000u) != 0 ? ((a ^ kPolynomial) << 1) | 1 : a << 1;
}

// kBeforeZeros[n]: the CRC register that becomes all ones after n zero bytes.
inline constexpr auto kBeforeZeros = [] {
  std::array<std::uint32_t, 8> before{};
  std::uint32_t crc = 0xFFFFFFFFu;
  for (std::size_t n = 0; n < before.size(); ++n) {
    before[n] = crc;
    for (int bit = 0; bit < 8; ++bit) crc = divided_by_x(crc);
  }
  return before;
}();

// x^exponent mod P.
constexpr std::uint32_t power_of_x(std::size_t exponent) {
  std::uint32_t power = 0x80000000u;
  for (; exponent != 0; --exponent) power = times_x(power);
  return power;
}

// kShift[m] = x^(64*m - 33) mod P. The carry-less product of a CRC register with it, after one 8-byte CRC step, is that
// register after m more zero words. This joins streams that were computed separately.
inline constexpr std::size_t kMaxShiftWords = 512;
inline constexpr auto kShift = [] {
  std::array<std::uint32_t, kMaxShiftWords + 1> shift{};
  std::uint32_t power = power_of_x(31);
  for (std::size_t m = 1; m < shift.size(); ++m) {
    shift[m] = power;
    for (int i = 0; i < 64; ++i) power = times_x(power);
  }
  return shift;
}();

}  // namespace penstock::detail
