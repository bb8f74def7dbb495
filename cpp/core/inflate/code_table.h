// Tables that say what the next bits of a deflate stream mean.
//
// A table is looked up with as many bits as its root has; codes that are longer go on in a subtable. An entry is a
// word:
//
//   bits 0-7    how many bits of the stream it accounts for, extra bits of a length or a distance included
//   bit  9      it is a literal
//   bit  10     it ends the block, or, with nothing in bits 16-31, is no code at all
//   bits 11-14  how many bits the code alone has; of a subtable, how many bits choose in it
//   bit  15     it goes on in a subtable; bits 0-7 are then those of the root
//   bits 16-31  the literal, the smallest length or distance, or where the subtable starts
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::inflate {

inline constexpr unsigned kMaxCodeBits = 15;
inline constexpr std::size_t kLengthCodes = 288,
                             kDistanceCodes = 32;  // symbols 286, 287 and 30, 31 never stand for anything

namespace entry {

inline constexpr std::uint32_t kLiteral = 1u << 9, kSpecial = 1u << 10, kSubtable = 1u << 15;
inline constexpr std::uint32_t kInvalid = kSpecial;

constexpr unsigned bits(std::uint32_t e) { return e & 0xFF; }
constexpr bool is_literal(std::uint32_t e) { return (e & kLiteral) != 0; }
constexpr unsigned code_bits(std::uint32_t e) { return (e >> 11) & 15; }
constexpr std::uint32_t value(std::uint32_t e) { return e >> 16; }

}  // namespace entry

// A complete code has at least two of its codes behind each root that goes on, hence the number of subtables.
template <unsigned kRoot, std::size_t kSymbols>
struct CodeTable {
  static constexpr unsigned kRootBits = kRoot;
  static constexpr std::size_t kSize = (std::size_t{1} << kRoot) + (kSymbols / 2 << (kMaxCodeBits - kRoot));
  std::array<std::uint32_t, kSize> entries;
};

using LiteralTable = CodeTable<11, kLengthCodes>;
using DistanceTable = CodeTable<8, kDistanceCodes>;

struct BlockCodes {
  LiteralTable literals;
  DistanceTable distances;
};

// Each makes a table of the lengths that the codes of symbols 0, 1 ... have, 0 for none. False where zlib, too, refuses
// them: too many codes, or too few, unless there is none or a single one of one bit.
bool make_literal_table(std::span<const std::uint8_t> lengths, LiteralTable& table);
bool make_distance_table(std::span<const std::uint8_t> lengths, DistanceTable& table);

// The code that the lengths themselves are sent in; their values are bits 16-31 of an entry. It must be complete.
using LengthsTable = CodeTable<7, 0>;
bool make_lengths_table(std::span<const std::uint8_t> lengths, LengthsTable& table);

}  // namespace penstock::inflate
