#include "core/example/packed_varints.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/example/varint.h"
#include "core/example/varint_kernels.h"
#include "core/little_endian.h"

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define PENSTOCK_SSE2 1
#endif

namespace penstock {
namespace {

// Bytes that are examined together.
constexpr std::size_t kBlock = 64;

// The low n bits, 1 to 64.
std::uint64_t low_bits(std::size_t n) { return ~std::uint64_t{0} >> (64 - n); }

// Sets bit i if byte i of the `size` bytes at `p` ends a value. Loads that would pass `limit` start earlier instead.
std::uint64_t value_ends(const std::byte* p, std::size_t size, const std::byte* limit) {
  std::uint64_t more = 0;
#ifdef PENSTOCK_SSE2
  constexpr std::size_t kLoad = 16;
#else
  constexpr std::size_t kLoad = 8;
#endif
  for (std::size_t i = 0; i < size; i += kLoad) {
    const auto left = static_cast<std::size_t>(limit - (p + i));
    const std::size_t shift = left < kLoad ? kLoad - left : 0;
    const std::byte* from = p + i - shift;
#ifdef PENSTOCK_SSE2
    const auto found =
        static_cast<unsigned>(_mm_movemask_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#else
    const std::uint64_t high = (load_le64(from) >> 7) & 0x0101010101010101u;
    const std::uint64_t found = (high * 0x0102040810204080u) >> 56;  // gathers the lowest bits of eight bytes
#endif
    more |= static_cast<std::uint64_t>(found >> shift) << i;
  }
  return ~more & low_bits(size);
}

std::size_t decode_portably(const std::byte* p, const std::byte* limit, std::uint64_t ends, std::int64_t*& out) {
  std::size_t begin = 0;
  for (; ends != 0; ends &= ends - 1) {
    const auto end = static_cast<std::size_t>(std::countr_zero(ends)) + 1;
    const std::byte* from = p + begin;
    std::uint64_t value;
    // No branch on the exact number of bytes, which random data would mispredict.
    if (end - begin <= 4 && limit - from >= 4) {
      value = join_groups(load_le32(from) & (~std::uint32_t{0} >> (32 - 8 * (end - begin))));
    } else if (end - begin <= 8 && limit - from >= 8) {
      value = join_groups(load_le64(from) & (~std::uint64_t{0} >> (64 - 8 * (end - begin))));
    } else {
      if (!wire::read_varint(from, p + end, value)) return kMalformedRun;
    }
    *out++ = static_cast<std::int64_t>(value);
    begin = end;
  }
  return begin;
}

struct Available {
  std::array<VarintKernel, 2> kernels;
  std::size_t count = 0;

  Available() {
#ifdef PENSTOCK_VARINT_AVX2
    if (detail::varint_avx2_supported()) kernels[count++] = {"avx2", detail::varint_avx2};
#endif
    kernels[count++] = {"portable", decode_portably};
  }
};

// decode_varints() for input where bytes up to `limit` may be read, including kVarintReach bytes before it.
//
// The ends of the values are found first, so that decoding one does not wait for the previous one.
std::size_t decode_run(const std::byte*& p, const std::byte* end, const std::byte* limit, std::int64_t* out,
                       std::size_t capacity) {
  static const DecodeEnds decode = varint_kernels().front().decode;
  std::int64_t* const first = out;
  while (p != end) {
    const auto left = static_cast<std::size_t>(end - p);
    const std::size_t capacity_left = capacity - static_cast<std::size_t>(out - first);
    const std::size_t size = std::min({left, capacity_left, kBlock});
    if (size == 0) break;
    const std::uint64_t ends = value_ends(p, size, limit);
    if (ends == low_bits(size)) {
      // One-byte values: by far the most common case in labels and small vocabularies.
      for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::int64_t>(p[i]);
      out += size;
      p += size;
    } else if (ends != 0) {
      const std::size_t taken = decode(p, limit, ends, out);
      if (taken == kMalformedRun) return kMalformedRun;
      p += taken;
    } else {
      // No value ends here: it is too long, or truncated, or continues after the little capacity that is left.
      std::uint64_t value;
      if (!wire::read_varint(p, end, value)) return kMalformedRun;
      *out++ = static_cast<std::int64_t>(value);
    }
  }
  return static_cast<std::size_t>(out - first);
}

}  // namespace

std::span<const VarintKernel> varint_kernels() {
  static const Available available;
  return {available.kernels.data(), available.count};
}

std::size_t decode_varints(const std::byte*& p, const std::byte* end, std::int64_t* out, std::size_t capacity) {
  const auto size = static_cast<std::size_t>(end - p);
  if (size >= kVarintReach) return decode_run(p, end, end, out, capacity);
  std::byte padded[kVarintReach] = {};
  if (size != 0) std::memcpy(padded, p, size);
  const std::byte* at = padded;
  const std::size_t count = decode_run(at, padded + size, padded + kVarintReach, out, capacity);
  p += at - padded;
  return count;
}

}  // namespace penstock
