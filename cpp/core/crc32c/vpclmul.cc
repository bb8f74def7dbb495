// The kernel for x86-64 CPUs of about 2020 and later: VPCLMULQDQ folds the front of long input while the CRC32
// instruction processes three streams after it. They use different execution units; on Zen 3, each handles eight bytes
// per cycle.
#include "core/crc32c/kernels.h"

#ifdef PENSTOCK_CRC32C_SSE42

#include <immintrin.h>

#include "core/crc32c/polynomial.h"
#include "core/little_endian.h"

// Enabled for these functions only, as in sse42.cc.
#ifdef _MSC_VER
#include <intrin.h>
#define PENSTOCK_CRC_TARGET
#else
#define PENSTOCK_CRC_TARGET __attribute__((target("sse4.2,pclmul,avx2,vpclmulqdq")))
#endif

namespace penstock::detail {
namespace {

#include "core/crc32c/x86_streams.inl"

PENSTOCK_CRC_TARGET inline __m256i load(const std::byte* data) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data));
}

// The factors that move the halves of 16 bytes kBytes ahead. A product of reflected polynomials is one bit too low,
// hence the shift.
template <std::size_t kBytes>
PENSTOCK_CRC_TARGET inline __m128i ahead_by() {
  constexpr auto kLow = static_cast<long long>(power_of_x(8 * kBytes + 32)) << 1;
  constexpr auto kHigh = static_cast<long long>(power_of_x(8 * kBytes - 32)) << 1;
  return _mm_set_epi64x(kHigh, kLow);
}

PENSTOCK_CRC_TARGET inline __m256i folded(__m256i bytes, __m256i by, __m256i onto) {
  const __m256i low = _mm256_clmulepi64_epi128(bytes, by, 0x00), high = _mm256_clmulepi64_epi128(bytes, by, 0x11);
  return _mm256_xor_si256(_mm256_xor_si256(low, onto), high);
}

// The register, starting from zero, after bytes that fold to these 64.
PENSTOCK_CRC_TARGET inline std::uint64_t crc_of(__m256i first, __m256i second) {
  const __m256i half = folded(first, _mm256_broadcastsi128_si256(ahead_by<32>()), second);
  const __m128i by = ahead_by<16>(), front = _mm256_castsi256_si128(half);
  const __m128i low = _mm_clmulepi64_si128(front, by, 0x00), high = _mm_clmulepi64_si128(front, by, 0x11);
  const __m128i last = _mm_xor_si128(_mm_xor_si128(low, _mm256_extracti128_si256(half, 1)), high);
  return crc_u64(crc_u64(0, static_cast<std::uint64_t>(_mm_cvtsi128_si64(last))),
                 static_cast<std::uint64_t>(_mm_extract_epi64(last, 1)));
}

struct Folding {
  // A step folds 64 bytes and advances each stream by three words, which takes the same time.
  static constexpr std::size_t kFold = 64, kWords = 3, kStep = kFold + 3 * 8 * kWords;
  static constexpr std::size_t kMaxSteps = kMaxShiftWords / (3 * kWords);
  static constexpr std::size_t kMin = 5 * kStep;  // below this, streams alone are as fast

  PENSTOCK_CRC_TARGET static void take(std::uint32_t& crc, const std::byte*& data, std::size_t& size) {
    while (size >= kMin) {
      const bool last = size < kStep * kMaxSteps;
      const std::size_t steps = last ? size / kStep : kMaxSteps;
      const std::size_t words = last ? (size - kFold * steps) / 24 : kWords * kMaxSteps;
      crc = round(crc, data, steps, words);
      data += kFold * steps + 24 * words;
      size -= kFold * steps + 24 * words;
    }
  }

  PENSTOCK_CRC_TARGET static std::uint32_t round(std::uint32_t crc, const std::byte* front, std::size_t steps,
                                                 std::size_t words) {
    const std::byte* a = front + kFold * steps;
    const std::byte* b = a + 8 * words;
    const std::byte* c = b + 8 * words;
    const std::byte* const end_of_a = b - 8;
    std::uint64_t crc_a = 0, crc_b = 0, crc_c = 0;
    const auto next_words = [&]() PENSTOCK_CRC_TARGET {
      crc_a = crc_u64(crc_a, load_le64(a));
      crc_b = crc_u64(crc_b, load_le64(b));
      crc_c = crc_u64(crc_c, load_le64(c));
      a += 8;
      b += 8;
      c += 8;
    };
    const __m256i by = _mm256_broadcastsi128_si256(ahead_by<kFold>());
    __m256i first = _mm256_xor_si256(load(front), _mm256_set_epi64x(0, 0, 0, static_cast<long long>(crc)));
    __m256i second = load(front + 32);
    for (std::size_t i = 1; i < steps; ++i) {
      front += kFold;
      first = folded(first, by, load(front));
      second = folded(second, by, load(front + 32));
      for (std::size_t word = 0; word < kWords; ++word) next_words();
    }
    while (a != end_of_a) next_words();
    crc_a = crc_u64(crc_a, load_le64(a));
    crc_b = crc_u64(crc_b, load_le64(b));
    const std::uint64_t join =
        clmul(crc_of(first, second), kShift[3 * words]) ^ clmul(crc_a, kShift[2 * words]) ^ clmul(crc_b, kShift[words]);
    return static_cast<std::uint32_t>(crc_u64(crc_c, load_le64(c) ^ join));
  }
};

}  // namespace

bool crc32c_vpclmul_supported() {
#ifdef _MSC_VER
  int info[4];
  __cpuid(info, 1);
  const bool has_os_support = (info[2] & (1 << 27)) != 0 && (_xgetbv(0) & 6) == 6;
  __cpuidex(info, 7, 0);
  return has_os_support && crc32c_sse42_supported() && (info[1] & (1 << 5)) != 0 && (info[2] & (1 << 10)) != 0;
#else
  return crc32c_sse42_supported() && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("vpclmulqdq") != 0;
#endif
}

std::uint32_t crc32c_vpclmul(std::uint32_t crc, const std::byte* data, std::size_t size) {
  return size < Folding::kMin ? crc32c_sse42(crc, data, size) : three_streams<Folding>(crc, data, size);
}

}  // namespace penstock::detail

#endif  // PENSTOCK_CRC32C_SSE42
