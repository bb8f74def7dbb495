#include "core/inflate/block_header.h"

#include <algorithm>

namespace penstock::inflate {
namespace {

constexpr std::size_t kMostLengths = 286 + 30;
constexpr unsigned kRepeatLast = 16;  // 17 and 18 repeat zero

struct Repeat {
  unsigned extra_bits;
  unsigned least;
};
constexpr Repeat kRepeats[] = {{2, 3}, {3, 3}, {7, 11}};

bool read_lengths(Bits& bits, Input& input, const LengthsTable& table, std::span<std::uint8_t> lengths) {
  for (std::size_t i = 0; i < lengths.size();) {
    bits.refill(input);
    const std::uint32_t e = table.entries[bits.peek(LengthsTable::kRootBits)];
    if (entry::bits(e) > bits.count) return false;
    bits.drop(entry::bits(e));
    const std::uint32_t value = entry::value(e);
    if (value < kRepeatLast) {
      lengths[i++] = static_cast<std::uint8_t>(value);
      continue;
    }
    const Repeat repeat = kRepeats[value - kRepeatLast];
    if (repeat.extra_bits > bits.count) return false;
    const std::size_t times = repeat.least + bits.take(repeat.extra_bits);
    if (times > lengths.size() - i || (value == kRepeatLast && i == 0)) return false;
    std::fill_n(lengths.begin() + static_cast<std::ptrdiff_t>(i), times,
                value == kRepeatLast ? lengths[i - 1] : std::uint8_t{0});
    i += times;
  }
  return true;
}

}  // namespace

bool read_codes(Bits& bits, Input& input, BlockCodes& codes) {
  static constexpr std::uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  bits.refill(input);
  if (bits.count < 14) return false;
  const std::size_t literals = 257 + bits.take(5), distances = 1 + bits.take(5), sent = 4 + bits.take(4);
  if (literals > 286 || distances > 30) return false;

  std::array<std::uint8_t, 19> lengths_of_lengths{};
  for (std::size_t i = 0; i < sent; ++i) {
    bits.refill(input);
    if (bits.count < 3) return false;
    lengths_of_lengths[kOrder[i]] = static_cast<std::uint8_t>(bits.take(3));
  }
  LengthsTable table;
  if (!make_lengths_table(lengths_of_lengths, table)) return false;

  std::array<std::uint8_t, kMostLengths> lengths;
  const std::span<std::uint8_t> used(lengths.data(), literals + distances);
  if (!read_lengths(bits, input, table, used)) return false;
  if (lengths[256] == 0) return false;  // a block without an end
  return make_literal_table(used.first(literals), codes.literals) &&
         make_distance_table(used.subspan(literals), codes.distances);
}

const BlockCodes& fixed_codes() {
  static const BlockCodes codes = [] {
    std::array<std::uint8_t, kLengthCodes> literals;
    const auto from = [&](std::size_t symbol) { return literals.begin() + static_cast<std::ptrdiff_t>(symbol); };
    std::fill(from(0), from(144), std::uint8_t{8});
    std::fill(from(144), from(256), std::uint8_t{9});
    std::fill(from(256), from(280), std::uint8_t{7});
    std::fill(from(280), literals.end(), std::uint8_t{8});
    std::array<std::uint8_t, kDistanceCodes> distances;
    distances.fill(5);
    BlockCodes made;
    make_literal_table(literals, made.literals);
    make_distance_table(distances, made.distances);
    return made;
  }();
  return codes;
}

}  // namespace penstock::inflate
