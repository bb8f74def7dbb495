// Varints, a whole word at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/example/wire.h"
#include "core/little_endian.h"

namespace penstock {

inline constexpr std::uint64_t kContinuationBits = 0x8080808080808080u;

// Joins the seven-bit groups in the low bits of the bytes of `word`, ignoring the high bits. All groups move at once.
inline std::uint64_t join_groups(std::uint64_t word) {
  word = (word & 0x007F007F007F007Fu) | ((word & 0x7F007F007F007F00u) >> 1);
  word = (word & 0x00003FFF00003FFFu) | ((word & 0x3FFF00003FFF0000u) >> 2);
  return (word & 0x000000000FFFFFFFu) | ((word & 0x0FFFFFFF00000000u) >> 4);
}

inline std::uint32_t join_groups(std::uint32_t word) {
  word = (word & 0x007F007Fu) | ((word & 0x7F007F00u) >> 1);
  return (word & 0x00003FFFu) | ((word & 0x3FFF0000u) >> 2);
}

// Decodes a varint of n bytes (1 to 8) in the low bytes of `word`, with zeros above; false if the continuation bits do
// not match n.
inline bool read_short_varint(std::uint64_t word, unsigned n, std::uint64_t& value) {
  if ((word & kContinuationBits) != (kContinuationBits & ((std::uint64_t{1} << (8 * (n - 1))) - 1))) return false;
  value = join_groups(word);
  return true;
}

// The reverse: spreads up to 56 bits over seven-bit groups, without continuation bits.
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

// put_varint() without a branch on the length; may write 8 bytes, however far it advances.
inline std::byte* put_varint_with_slack(std::byte* out, std::uint64_t value) {
  if (value >> 56 != 0) return put_varint(out, value);
  const std::size_t size = varint_size(value);
  const std::uint64_t more = kContinuationBits & ((std::uint64_t{1} << (8 * (size - 1))) - 1);
  store_le64(out, split_groups(value) | more);
  return out + size;
}

}  // namespace penstock
