// The kernels: one file and one declaration each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::detail {

std::uint32_t crc32_table(std::uint32_t crc, const std::byte* data, std::size_t size);

#if defined(__x86_64__) || defined(_M_X64)
#define PENSTOCK_CRC32_PCLMUL 1
std::uint32_t crc32_pclmul(std::uint32_t crc, const std::byte* data, std::size_t size);
#endif

#if defined(__aarch64__) && !defined(_MSC_VER)
#define PENSTOCK_CRC32_ARMV8 1
std::uint32_t crc32_armv8(std::uint32_t crc, const std::byte* data, std::size_t size);
#endif

}  // namespace penstock::detail
