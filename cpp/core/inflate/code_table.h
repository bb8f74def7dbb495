// Tables that decode the next bits of a deflate stream.
//
// A table is indexed by its root bits; longer codes continue in a subtable. An entry is a word:
//
//   bits 0-7    number of bits that it takes from the stream, including extra bits of a length or a distance
//   bit  9      a literal
//   bit  10     the end of the block; an invalid code if bits 16-31 are zero
//   bits 11-14  number of bits of the code alone; for a subtable, of its index
//   bit  15     continues in a subtable; bits 0-7 are then the root bits
//   bits 16-31  the literal, the smallest length or distance, or the start of the subtable
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::inflate {

inline constexpr unsigned kMaxCodeBits = 15;
inline constexpr std::size_t kLengthCodes = 288,
                             kDistanceCodes = 32;  // symbols 286, 287 and 30, 31 are never valid

namespace entry {

inline constexpr std::uint32_t kLiteral = 1u << 9, kSpecial = 1u << 10, kSubtable = 1u << 15;
inline constexpr std::uint32_t kInvalid = kSpecial;

constexpr unsigned bits(std::uint32_t e) { return e & 0xFF; }
constexpr bool is_literal(std::uint32_t e) { return (e & kLiteral) != 0; }
constexpr unsigned code_bits(std::uint32_t e) { return (e >> 11) & 15; }
constexpr std::uint32_t value(std::uint32_t e) { return e >> 16; }

}  // namespace entry

// In a complete code, each root with a subtable has at least two codes; this bounds the number of subtables.
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

// Each builds a table from the code lengths of symbols 0, 1 ..., 0 for none. Returns false if zlib rejects them too:
// too many codes, or too few, unless there is none or a single one of one bit.
bool make_literal_table(std::span<const std::uint8_t> lengths, LiteralTable& table);
bool make_distance_table(std::span<const std::uint8_t> lengths, DistanceTable& table);

// The code for the code lengths; bits 16-31 of an entry are the value. It must be complete.
using LengthsTable = CodeTable<7, 0>;
bool make_lengths_table(std::span<const std::uint8_t> lengths, LengthsTable& table);

}  // namespace penstock::inflate
