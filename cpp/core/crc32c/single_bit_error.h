// Detects, from the checksum alone, that a single bit was flipped.
#pragma once

#include <cstdint>

namespace penstock {

// True if the CRC32C of `size` bytes differs from the expected one as it does if one bit is wrong. Other damage looks
// the same with a probability of 8 * size / 2^32; for long ranges the result is false.
bool is_single_bit_error(std::uint32_t crc, std::uint32_t right, std::uint64_t size);

}  // namespace penstock
