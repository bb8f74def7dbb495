// Runs of varints, the payload of packed integer lists, decoded many at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/bytes.h"
#include "core/example/wire.h"

namespace penstock {

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
