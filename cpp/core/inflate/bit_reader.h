// The bits of a deflate stream, lowest first. Checked: reading stops at the end of the input.
#pragma once

#include <cstdint>

#include "core/little_endian.h"

namespace penstock::inflate {

struct Input {
  const std::byte* next;
  const std::byte* end;
};

struct BitReader {
  std::uint64_t held = 0;  // those beyond `count` are zero
  unsigned count = 0;

  // Adds bytes until there are at least 56 bits, or the input ends.
  void refill(Input& input) {
    for (; count < 56 && input.next != input.end; count += 8)
      held |= static_cast<std::uint64_t>(*input.next++) << count;
  }
  std::uint32_t peek(unsigned bits) const {
    return static_cast<std::uint32_t>(held & ((std::uint64_t{1} << bits) - 1));
  }
  // At most `count`.
  void drop(unsigned bits) {
    held >>= bits;
    count -= bits;
  }
  // At most `count`, and at most 32.
  std::uint32_t take(unsigned bits) {
    const std::uint32_t value = peek(bits);
    drop(bits);
    return value;
  }
  // Returns whole bytes to the input.
  void give_back(Input& input) {
    input.next -= count / 8;
    count %= 8;
    held &= (1u << count) - 1;
  }
};

inline std::size_t unread_bits(const BitReader& bits, const Input& input) {
  return static_cast<std::size_t>(input.end - input.next) * 8 + bits.count;
}

}  // namespace penstock::inflate
