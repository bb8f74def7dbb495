// The x86-64 kernel: four values of up to three bytes at a time.
//
// The end bits of four values determine their lengths. There are few cases; for each, a shuffle spreads the bytes over
// four words, in which two multiplications join the seven-bit groups. PDEP finds where each group of four begins, so
// that none waits for the previous one. Longer values are decoded one by one with PEXT.
#include "core/example/varint_kernels.h"

#ifdef PENSTOCK_VARINT_AVX2

#include <immintrin.h>

#include <algorithm>
#include <array>

#include "core/example/packed_varints.h"
#include "core/example/wire.h"
#include "core/little_endian.h"

// Enabled for these functions only: binaries stay portable.
#define PENSTOCK_AVX2_TARGET __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))

namespace penstock::detail {
namespace {

constexpr unsigned kGroup = 4, kLongest = 3, kWindow = kGroup * kLongest, kCases = 81;

struct Shuffles {
  std::array<std::uint8_t, 1u << kWindow> cases{};  // by the ends of values in the next bytes; kCases: one is too long
  alignas(16) std::array<std::array<std::uint8_t, 16>, kCases> orders{};
};

constexpr Shuffles make_shuffles() {
  Shuffles made;
  for (std::uint32_t ends = 0; ends < made.cases.size(); ++ends) {
    std::array<std::uint8_t, 16> order{};
    unsigned number = 0, at = 0;
    bool fits = true;
    for (unsigned value = 0; value < kGroup; ++value) {
      unsigned length = 1;
      while (length <= kLongest && (ends >> (at + length - 1) & 1) == 0) ++length;
      fits = fits && length <= kLongest;
      for (unsigned i = 0; i < 4; ++i)
        order[4 * value + i] = static_cast<std::uint8_t>(i < length ? at + i : 0x80);  // 0x80 produces a zero
      number = number * kLongest + length - 1;
      at += length;
    }
    made.cases[ends] = static_cast<std::uint8_t>(fits ? number : kCases);
    if (fits) made.orders[number] = order;
  }
  return made;
}

alignas(64) constexpr Shuffles kShuffles = make_shuffles();

// Decodes the values that end at the bits of `ends` one by one, from `begin` on. Returns where they end, or
// kMalformedRun.
PENSTOCK_AVX2_TARGET
std::size_t decode_singly(const std::byte* p, const std::byte* limit, std::uint64_t ends, std::size_t begin,
                          std::int64_t* out) {
  constexpr std::uint64_t kGroups = 0x7F7F7F7F7F7F7F7Fu;
  for (; ends != 0; ends = _blsr_u64(ends)) {
    const std::size_t end = _tzcnt_u64(ends) + 1;
    const std::byte* from = p + begin;
    std::uint64_t value;
    if (end - begin <= 8 && limit - from >= 8) [[likely]]
      value = _pext_u64(load_le64(from), _bzhi_u64(kGroups, static_cast<unsigned>(8 * (end - begin))));
    else if (!wire::read_varint(from, p + end, value))
      return kMalformedRun;
    *out++ = static_cast<std::int64_t>(value);
    begin = end;
  }
  return begin;
}

PENSTOCK_AVX2_TARGET inline __m256i decode_four(__m128i bytes, __m128i order) {
  const __m128i spread = _mm_and_si128(_mm_shuffle_epi8(bytes, order), _mm_set1_epi8(0x7F));
  const __m128i pairs = _mm_maddubs_epi16(_mm_set1_epi16(static_cast<short>(0x8001)), spread);  // a + 128 b
  return _mm256_cvtepu32_epi64(_mm_madd_epi16(pairs, _mm_set1_epi32(0x40000001)));              // and 128 * 128 c
}

}  // namespace

bool varint_avx2_supported() {
  __builtin_cpu_init();
  // AMD CPUs before Zen 3 take a hundred cycles for PDEP and PEXT.
  const bool slow = __builtin_cpu_is("amdfam15h") || __builtin_cpu_is("amdfam17h");
  return !slow && __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("bmi") != 0 &&
         __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("popcnt") != 0;
}

PENSTOCK_AVX2_TARGET
std::size_t varint_avx2(const std::byte* p, const std::byte* limit, std::uint64_t ends, std::int64_t*& out) {
  const auto count = static_cast<unsigned>(_mm_popcnt_u64(ends));
  const auto size = static_cast<unsigned>(64 - _lzcnt_u64(ends));
  std::int64_t* const first = out;
  out += count;
  if (size > kLongest * count) return decode_singly(p, limit, ends, 0, first);  // most are too long
  // Pad the last group to four with one-byte values.
  const std::uint64_t more = _bzhi_u64(~ends, size);
  unsigned begin = 0;
  for (unsigned done = 0; done < count; done += kGroup) {
    const unsigned number = kShuffles.cases[~(more >> begin) & ((1u << kWindow) - 1)];
    const std::uint64_t fourth = _pdep_u64(std::uint64_t{8} << done, ends);
    if (number != kCases) [[likely]] {
      // Near the limit, load bytes before these instead of bytes after it.
      const auto shift = static_cast<int>(std::max<std::ptrdiff_t>(0, 16 - (limit - (p + begin))));
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + begin - shift));
      const __m128i order = _mm_load_si128(reinterpret_cast<const __m128i*>(kShuffles.orders[number].data()));
      const __m128i shifted = _mm_add_epi8(order, _mm_set1_epi8(static_cast<char>(shift)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(first + done), decode_four(bytes, shifted));
    } else {
      const std::uint64_t four = ends & (fourth ^ (fourth - 1)) & ~_bzhi_u64(~std::uint64_t{0}, begin);
      if (decode_singly(p, limit, four, begin, first + done) == kMalformedRun) return kMalformedRun;
    }
    begin = static_cast<unsigned>(_tzcnt_u64(fourth)) + 1;
  }
  return size;
}

}  // namespace penstock::detail

#endif  // PENSTOCK_VARINT_AVX2
