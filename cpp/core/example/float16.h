// Exact conversions from float32 to the two 16-bit formats.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace penstock {

// Each returns whether the value is represented exactly. A NaN stays a NaN, with as many payload bits as fit.
inline bool to_bfloat16(std::uint32_t bits, std::uint16_t& out) {
  out = static_cast<std::uint16_t>(bits >> 16);
  const bool nan = (bits & 0x7F800000u) == 0x7F800000u && (bits & 0x007FFFFFu) != 0;
  if (nan && (out & 0x7F) == 0) out |= 0x40;
  return nan || (bits & 0xFFFFu) == 0;
}

inline bool to_float16(std::uint32_t bits, std::uint16_t& out) {
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {
    const std::uint32_t payload = (bits >> 13) & 0x3FFu;
    out = static_cast<std::uint16_t>(sign | 0x7C00u | (payload != 0 ? payload : 0x200u));
    return true;
  }
  if (magnitude == 0x7F800000u || magnitude == 0) {
    out = static_cast<std::uint16_t>(sign | (magnitude != 0 ? 0x7C00u : 0u));
    return true;
  }
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (exponent > 15 || exponent < -24) return false;
  const std::uint32_t mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
  const int dropped = exponent >= -14 ? 13 : 13 + (-14 - exponent);  // bits that do not fit
  if ((mantissa & ((1u << dropped) - 1)) != 0) return false;
  const std::uint32_t kept = mantissa >> dropped;
  const std::uint32_t half =
      exponent >= -14 ? (static_cast<std::uint32_t>(exponent + 15) << 10) | (kept & 0x3FFu) : kept;
  out = static_cast<std::uint16_t>(sign | half);
  return true;
}

}  // namespace penstock
