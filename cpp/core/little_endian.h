// Little-endian words at any address.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock {

static_assert(std::endian::native == std::endian::little, "TFRecord words are read in place: little-endian hosts only");

inline std::uint64_t load_le64(const std::byte* p) {
  std::uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline std::uint32_t load_le32(const std::byte* p) {
  std::uint32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline std::uint16_t load_le16(const std::byte* p) {
  std::uint16_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline void store_le64(std::byte* p, std::uint64_t v) { std::memcpy(p, &v, sizeof v); }
inline void store_le32(std::byte* p, std::uint32_t v) { std::memcpy(p, &v, sizeof v); }

}  // namespace penstock
