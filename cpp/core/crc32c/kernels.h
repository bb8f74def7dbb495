// The kernels: one file and one declaration each. Only dispatchers include this.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::detail {

std::uint32_t crc32c_table(std::uint32_t crc, const std::byte* data, std::size_t size);

#if defined(__x86_64__) || defined(_M_X64)
#define PENSTOCK_CRC32C_SSE42 1
bool crc32c_sse42_supported();
std::uint32_t crc32c_sse42(std::uint32_t crc, const std::byte* data, std::size_t size);
bool crc32c_vpclmul_supported();
std::uint32_t crc32c_vpclmul(std::uint32_t crc, const std::byte* data, std::size_t size);
#endif

#if defined(__aarch64__) && !defined(_MSC_VER)
#define PENSTOCK_CRC32C_ARMV8 1
bool crc32c_armv8_supported();
std::uint32_t crc32c_armv8(std::uint32_t crc, const std::byte* data, std::size_t size);
#endif

}  // namespace penstock::detail
