#include "core/example/varint_run.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "core/bytes.h"
#include "core/example/varint.h"
#include "core/example/varint_kernels.h"

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#define PENSTOCK_SSE2 1
#endif

namespace penstock {
namespace {

// Bytes that are looked at together, and those behind them that a load may reach.
constexpr std::size_t kBlock = 64, kBehind = 7;

// Bit i is set where byte i of the block at `p` ends a value.
std::uint64_t value_ends(const std::byte* p) {
  std::uint64_t more = 0;
#ifdef PENSTOCK_SSE2
  for (std::size_t i = 0; i < kBlock; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
    more |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(bytes))) << i;
  }
#else
  for (std::size_t i = 0; i < kBlock; i += 8) {
    const std::uint64_t high = (load_le64(p + i) >> 7) & 0x0101010101010101u;
    more |= ((high * 0x0102040810204080u) >> 56) << i;  // gathers the lowest bits of eight bytes
  }
#endif
  return ~more;
}

std::size_t decode_portably(const std::byte* p, std::uint64_t ends, std::int64_t*& out) {
  std::size_t begin = 0;
  for (; ends != 0; ends &= ends - 1) {
    const auto end = static_cast<std::size_t>(std::countr_zero(ends)) + 1;
    std::uint64_t value;
    // Without a branch on the number of bytes as such, which random data would mispredict.
    if (end - begin <= 4) {
      value = join_groups(load_le32(p + begin) & (~std::uint32_t{0} >> (32 - 8 * (end - begin))));
    } else if (end - begin <= 8) {
      value = join_groups(load_le64(p + begin) & (~std::uint64_t{0} >> (64 - 8 * (end - begin))));
    } else {
      const std::byte* from = p + begin;
      if (!wire::read_varint(from, p + end, value)) return kBadRun;
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
#ifdef PENSTOCK_VARINT_BMI2
    if (detail::varint_bmi2_supported()) kernels[count++] = {"bmi2", detail::varint_bmi2};
#endif
    kernels[count++] = {"portable", decode_portably};
  }
};

// Decodes the values that end in the first `size` bytes of the block at `p`, at most as many as there are bytes.
// Answers how many bytes they take and moves `out` behind them, or answers kBadRun.
//
// Where values end is found first, so that decoding one does not wait for the one before.
std::size_t decode_block(const std::byte* p, std::size_t size, DecodeEnds decode, std::int64_t*& out) {
  const std::uint64_t all = ~std::uint64_t{0} >> (kBlock - size);
  const std::uint64_t ends = value_ends(p) & all;
  if (ends != all) return decode(p, ends, out);
  // Values of one byte each: the most common case by far in labels and small vocabularies.
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::int64_t>(p[i]);
  out += size;
  return size;
}

}  // namespace

std::span<const VarintKernel> varint_kernels() {
  static const Available available;
  return {available.kernels.data(), available.count};
}

std::size_t decode_varints(const std::byte*& p, const std::byte* end, std::int64_t* out, std::size_t capacity) {
  static const DecodeEnds decode = varint_kernels().front().decode;
  std::int64_t* const first = out;
  while (p != end) {
    const auto left = static_cast<std::size_t>(end - p);
    const std::size_t room = capacity - static_cast<std::size_t>(out - first);
    const std::size_t size = std::min({left, room, kBlock});
    if (size == 0) break;
    std::size_t taken;
    if (size == kBlock && left >= kBlock + kBehind) {
      taken = decode_block(p, kBlock, decode, out);
    } else {
      std::byte padded[kBlock + kBehind] = {};
      std::memcpy(padded, p, size);
      taken = decode_block(padded, size, decode, out);
    }
    if (taken == kBadRun) return kBadRun;
    p += taken;
    if (taken != 0) continue;
    // No value ends here: it is too long, or the run ends inside it, or there is little room and it goes on.
    std::uint64_t value;
    if (!wire::read_varint(p, end, value)) return kBadRun;
    *out++ = static_cast<std::int64_t>(value);
  }
  return static_cast<std::size_t>(out - first);
}

}  // namespace penstock
