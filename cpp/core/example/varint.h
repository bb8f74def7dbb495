// Runs of varints, the payload of packed integer lists, decoded many at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/bytes.h"
#include "core/example/wire.h"

namespace penstock {

// The value of a varint of n bytes, 1 to 8, that lies in the low bytes of `word` with nothing above them; false where
// the continuation bits do not fit n bytes. All seven-bit groups are moved at once.
inline bool join_groups(std::uint64_t word, unsigned n, std::uint64_t& value) {
  constexpr std::uint64_t kMore = 0x8080808080808080u;
  if ((word & kMore) != (kMore & ((std::uint64_t{1} << (8 * (n - 1))) - 1))) return false;
  word &= ~kMore;
  word = (word & 0x007F007F007F007Fu) | ((word & 0x7F007F007F007F00u) >> 1);
  word = (word & 0x00003FFF00003FFFu) | ((word & 0x3FFF00003FFF0000u) >> 2);
  value = (word & 0x000000000FFFFFFFu) | ((word & 0x0FFFFFFF00000000u) >> 4);
  return true;
}

// The reverse: spreads up to 56 bits over seven-bit groups, without the continuation bits.
inline std::uint64_t split_groups(std::uint64_t value) {
  value = (value & 0x000000000FFFFFFFu) | ((value & 0x00FFFFFFF0000000u) << 4);
  value = (value & 0x00003FFF00003FFFu) | ((value & 0x0FFFC0000FFFC000u) << 2);
  return (value & 0x007F007F007F007Fu) | ((value & 0x3F803F803F803F80u) << 1);
}

inline std::size_t varint_size(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

inline std::byte* put_varint(std::byte* out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *out++ = static_cast<std::byte>(value | 0x80);
  *out++ = static_cast<std::byte>(value);
  return out;
}

// put_varint() without a branch on the length; may write up to 8 bytes, whatever it advances by.
inline std::byte* put_varint_with_slack(std::byte* out, std::uint64_t value) {
  if (value >> 56 != 0) return put_varint(out, value);
  const std::size_t size = varint_size(value);
  const std::uint64_t more = 0x8080808080808080u & ((std::uint64_t{1} << (8 * (size - 1))) - 1);
  store_le64(out, split_groups(value) | more);
  return out + size;
}

// Decodes a whole run into `out`, which has room for `capacity` values. Answers how many there were, or kBadRun where
// the run is malformed or holds more. A run of n bytes never holds more than n values.
inline constexpr std::size_t kBadRun = static_cast<std::size_t>(-1);

inline std::size_t decode_varints(wire::Bytes run, std::int64_t* out, std::size_t capacity) {
  constexpr std::uint64_t kMore = 0x8080808080808080u;
  const std::byte* p = run.data;
  const std::byte* end = run.end();
  std::size_t n = 0;
  while (end - p >= 8 && capacity - n >= 8) {
    const std::uint64_t word = load_le64(p);
    const std::uint64_t more = word & kMore;
    if (more == 0) {
      // Eight values of one byte each: the most common case by far in token and label data.
      for (std::size_t i = 0; i < 8; ++i) out[n + i] = static_cast<std::int64_t>((word >> (8 * i)) & 0x7F);
      n += 8;
      p += 8;
      continue;
    }
    const unsigned last = static_cast<unsigned>(std::countr_zero(~word & kMore)) / 8;  // 8 where no byte ends a value
    if (last <= 3) {
      // Up to four bytes without a branch on their number, which random data would mispredict.
      const std::uint64_t kept = word & (~std::uint64_t{0} >> (56 - 8 * last));
      out[n++] = static_cast<std::int64_t>((kept & 0x7F) | ((kept >> 1) & 0x3F80) | ((kept >> 2) & 0x1FC000) |
                                           ((kept >> 3) & 0xFE00000));
      p += last + 1;
      continue;
    }
    std::uint64_t value;
    if (!wire::read_varint(p, end, value)) return kBadRun;
    out[n++] = static_cast<std::int64_t>(value);
  }
  while (p != end) {
    std::uint64_t value;
    if (n == capacity || !wire::read_varint(p, end, value)) return kBadRun;
    out[n++] = static_cast<std::int64_t>(value);
  }
  return n;
}

}  // namespace penstock
