// Tells a flipped bit from other damage, by the checksum alone.
#pragma once

#include <cstdint>

namespace penstock {

// True when the CRC32C of `size` bytes differs from the right one as it does where one bit of them is wrong. Of other
// damage, one in 2^32 / (8 * size) looks the same: for long ranges the answer is false.
bool is_single_bit_error(std::uint32_t crc, std::uint32_t right, std::uint64_t size);

}  // namespace penstock
