// The x86-64 kernel: carry-less products fold 64 bytes at a time into the next 64.
#include "core/crc32/kernels.h"

#ifdef PENSTOCK_CRC32_PCLMUL

#include <emmintrin.h>
#include <wmmintrin.h>

// Enabled for these functions only, never for a whole file.
#ifdef _MSC_VER
#define PENSTOCK_CLMUL_TARGET
#else
#define PENSTOCK_CLMUL_TARGET __attribute__((target("pclmul")))
#endif

namespace penstock::detail {
namespace {

PENSTOCK_CLMUL_TARGET inline __m128i load(const std::byte* data) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(data));
}

// Folds 16 bytes forward: the factors are powers of x modulo the polynomial, one for each half.
PENSTOCK_CLMUL_TARGET inline __m128i folded(__m128i bytes, __m128i factors, __m128i onto) {
  const __m128i low = _mm_clmulepi64_si128(bytes, factors, 0x00), high = _mm_clmulepi64_si128(bytes, factors, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

}  // namespace

PENSTOCK_CLMUL_TARGET std::uint32_t crc32_pclmul(std::uint32_t crc, const std::byte* data, std::size_t size) {
  if (size < 64) return crc32_table(crc, data, size);
  const __m128i by_64 = _mm_set_epi64x(0x1C6E41596, 0x154442BD4), by_16 = _mm_set_epi64x(0x0CCAA009E, 0x1751997D0);
  __m128i a = _mm_xor_si128(load(data), _mm_cvtsi32_si128(static_cast<int>(~crc)));
  __m128i b = load(data + 16), c = load(data + 32), d = load(data + 48);
  for (data += 64, size -= 64; size >= 64; data += 64, size -= 64) {
    a = folded(a, by_64, load(data));
    b = folded(b, by_64, load(data + 16));
    c = folded(c, by_64, load(data + 32));
    d = folded(d, by_64, load(data + 48));
  }
  a = folded(folded(folded(a, by_16, b), by_16, c), by_16, d);
  for (; size >= 16; data += 16, size -= 16) a = folded(a, by_16, load(data));
  // The last 16 bytes represent everything before them, including the register, which therefore starts at zero.
  alignas(16) std::byte last[16];
  _mm_store_si128(reinterpret_cast<__m128i*>(last), a);
  return crc32_table(crc32_table(0xFFFFFFFFu, last, sizeof last), data, size);
}

}  // namespace penstock::detail

#endif  // PENSTOCK_CRC32_PCLMUL
