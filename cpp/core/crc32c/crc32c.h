// CRC32C (Castagnoli), the checksum of TFRecord frames, with one kernel per CPU family.
//
// A kernel extends a finished checksum by more bytes: extend(extend(0, a), b) == extend(0, ab). All kernels return the
// same value; crc32c() uses the fastest one that this CPU supports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

struct Crc32cKernel {
  const char* name;
  std::uint32_t (*extend)(std::uint32_t crc, const std::byte* data, std::size_t size);
};

// The kernels that this CPU supports, fastest first. Never empty: the last one is the portable table.
std::span<const Crc32cKernel> crc32c_kernels();

namespace detail {
extern const Crc32cKernel crc32c_fastest;
}

inline std::uint32_t crc32c(const std::byte* data, std::size_t size) {
  return detail::crc32c_fastest.extend(0, data, size);
}

inline std::uint32_t crc32c_extend(std::uint32_t crc, const std::byte* data, std::size_t size) {
  return detail::crc32c_fastest.extend(crc, data, size);
}

// TFRecord stores masked checksums, because a CRC of data that contains CRCs is weak.
constexpr std::uint32_t mask_crc(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u; }

constexpr std::uint32_t unmask_crc(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xA282EAD8u;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace penstock
