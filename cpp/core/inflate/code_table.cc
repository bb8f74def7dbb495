#include "core/inflate/code_table.h"

#include <algorithm>

namespace penstock::inflate {
namespace {

// The meaning of a symbol: an entry without the bits of its code.
using Meaning = std::uint32_t;

constexpr Meaning with_extra(std::uint32_t smallest, unsigned extra_bits) { return smallest << 16 | extra_bits; }

// Lengths and distances come in groups of codes, each with one more extra bit than the last.
constexpr auto kLiteralMeanings = [] {
  std::array<Meaning, kLengthCodes> meanings{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) meanings[byte] = byte << 16 | entry::kLiteral;
  meanings[256] = entry::kSpecial | 1u << 16;
  std::uint32_t length = 3;
  for (std::size_t code = 0; code < 28; ++code) {
    const unsigned extra = code < 8 ? 0 : static_cast<unsigned>(code) / 4 - 1;
    meanings[257 + code] = with_extra(length, extra);
    length += 1u << extra;
  }
  meanings[285] = with_extra(258, 0);
  meanings[286] = meanings[287] = entry::kInvalid;
  return meanings;
}();

constexpr auto kDistanceMeanings = [] {
  std::array<Meaning, kDistanceCodes> meanings{};
  std::uint32_t distance = 1;
  for (std::size_t code = 0; code < 30; ++code) {
    const unsigned extra = code < 4 ? 0 : static_cast<unsigned>(code) / 2 - 1;
    meanings[code] = with_extra(distance, extra);
    distance += 1u << extra;
  }
  meanings[30] = meanings[31] = entry::kInvalid;
  return meanings;
}();

constexpr auto kLengthsMeanings = [] {
  std::array<Meaning, 19> meanings{};
  for (std::uint32_t value = 0; value < meanings.size(); ++value) meanings[value] = value << 16;
  return meanings;
}();

constexpr std::uint32_t with_code(Meaning meaning, unsigned bits) { return (meaning + bits) | bits << 11; }

constexpr auto kReversedBytes = [] {
  std::array<std::uint8_t, 256> reversed{};
  for (unsigned byte = 0; byte < 256; ++byte)
    for (unsigned i = 0; i < 8; ++i) reversed[byte] |= static_cast<std::uint8_t>(((byte >> i) & 1) << (7 - i));
  return reversed;
}();

// For codes of at most 16 bits.
constexpr std::uint32_t reversed(std::uint32_t code, unsigned bits) {
  const std::uint32_t all = std::uint32_t{kReversedBytes[code & 0xFF]} << 8 | kReversedBytes[code >> 8];
  return all >> (16 - bits);
}

// Assigns codes to symbols in canonical order, shorter ones first, and fills a table. A code is sent from its highest
// bit on but looked up from the stream's lowest, so entries are numbered by reversed codes.
class Filler {
 public:
  Filler(std::span<const std::uint8_t> lengths, std::span<const Meaning> meanings)
      : lengths_(lengths), meanings_(meanings) {
    for (const std::uint8_t length : lengths) ++count_[length];
    count_[0] = 0;
    while (longest_ > 0 && count_[longest_] == 0) --longest_;
    std::uint32_t code = 0;
    for (unsigned bits = 1; bits <= kMaxCodeBits; ++bits) {
      next_[bits] = code;
      left_ = 2 * left_ - static_cast<int>(count_[bits]);
      if (left_ < 0) return;
      code = (code + count_[bits]) << 1;
    }
  }

  bool complete() const { return left_ == 0; }
  bool acceptable() const { return left_ == 0 || (left_ > 0 && longest_ <= 1); }

  template <typename Table>
  void fill(Table& table) {
    constexpr unsigned kRoot = Table::kRootBits;
    constexpr std::uint32_t kRoots = 1u << kRoot;
    std::uint32_t* entries = table.entries.data();
    if (left_ != 0) std::fill_n(entries, kRoots, with_code(entry::kInvalid, 1));
    std::uint32_t end = kRoots;
    if (longest_ > kRoot) std::fill_n(entries, kRoots, 0u);  // zero: no subtable yet
    for (std::size_t symbol = 0; symbol < lengths_.size(); ++symbol) {
      const unsigned bits = lengths_[symbol];
      if (bits == 0) continue;
      const std::uint32_t code = reversed(next_[bits]++, bits);
      if (bits <= kRoot) {
        const std::uint32_t e = with_code(meanings_[symbol], bits);
        for (std::uint32_t i = code; i < kRoots; i += 1u << bits) entries[i] = e;
        continue;
      }
      const unsigned choosing = longest_ - kRoot;
      std::uint32_t& root = entries[code & (kRoots - 1)];
      if (root == 0) {
        root = end << 16 | entry::kSubtable | choosing << 11 | kRoot;
        end += 1u << choosing;
      }
      std::uint32_t* subtable = entries + entry::value(root);
      const std::uint32_t e = with_code(meanings_[symbol], bits - kRoot);
      for (std::uint32_t i = code >> kRoot; i < 1u << choosing; i += 1u << (bits - kRoot)) subtable[i] = e;
    }
  }

 private:
  std::span<const std::uint8_t> lengths_;
  std::span<const Meaning> meanings_;
  std::array<std::uint32_t, kMaxCodeBits + 1> count_{}, next_{};
  unsigned longest_ = kMaxCodeBits;
  int left_ = 1;  // unused codes of the current length
};

}  // namespace

bool make_literal_table(std::span<const std::uint8_t> lengths, LiteralTable& table) {
  Filler filler(lengths, kLiteralMeanings);
  if (!filler.acceptable()) return false;
  filler.fill(table);
  return true;
}

bool make_distance_table(std::span<const std::uint8_t> lengths, DistanceTable& table) {
  Filler filler(lengths, kDistanceMeanings);
  if (!filler.acceptable()) return false;
  filler.fill(table);
  return true;
}

bool make_lengths_table(std::span<const std::uint8_t> lengths, LengthsTable& table) {
  Filler filler(lengths, kLengthsMeanings);
  if (!filler.complete()) return false;
  filler.fill(table);
  return true;
}

}  // namespace penstock::inflate
