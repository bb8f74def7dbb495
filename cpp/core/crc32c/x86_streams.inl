// Three streams with the instructions of x86-64. The including file defines PENSTOCK_CRC_TARGET.

PENSTOCK_CRC_TARGET inline std::uint64_t crc_u64(std::uint64_t crc, std::uint64_t word) {
  return _mm_crc32_u64(crc, word);
}

PENSTOCK_CRC_TARGET inline std::uint32_t crc_u8(std::uint32_t crc, std::uint8_t byte) {
  return _mm_crc32_u8(crc, byte);
}

PENSTOCK_CRC_TARGET inline std::uint64_t clmul(std::uint64_t a, std::uint64_t b) {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(a)),
                                               _mm_cvtsi64_si128(static_cast<long long>(b)), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

#include "core/crc32c/three_streams.inl"
