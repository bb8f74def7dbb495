#include "core/inflate/block_header.h"

#include <algorithm>

namespace penstock::inflate {
namespace {

constexpr unsigned kRepeatLast = 16;  // 17 and 18 repeat zero

struct Repeat {
  unsigned extra_bits;
  unsigned least;
};
constexpr Repeat kRepeats[] = {{2, 3}, {3, 3}, {7, 11}};

}  // namespace

Progress CodesReader::read(BitReader& bits, Input& input, BlockCodes& codes) {
  Progress progress = Progress::kDone;
  if (stage_ == Stage::kCounts) progress = read_counts(bits, input);
  if (stage_ == Stage::kLengthsOfLengths) progress = read_lengths_of_lengths(bits, input);
  if (stage_ == Stage::kLengths) progress = read_lengths(bits, input);
  if (progress != Progress::kDone) return progress;
  if (lengths_[256] == 0) return Progress::kDamaged;  // a block without an end
  const std::span<const std::uint8_t> used(lengths_.data(), literals_ + distances_);
  const bool good = make_literal_table(used.first(literals_), codes.literals) &&
                    make_distance_table(used.subspan(literals_), codes.distances);
  return good ? Progress::kDone : Progress::kDamaged;
}

Progress CodesReader::read_counts(BitReader& bits, Input& input) {
  bits.refill(input);
  if (bits.count < 14) return Progress::kNeedsInput;
  literals_ = 257 + bits.take(5);
  distances_ = 1 + bits.take(5);
  sent_ = 4 + bits.take(4);
  if (literals_ > 286 || distances_ > 30) return Progress::kDamaged;
  stage_ = Stage::kLengthsOfLengths;
  return Progress::kDone;
}

Progress CodesReader::read_lengths_of_lengths(BitReader& bits, Input& input) {
  static constexpr std::uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  for (; next_ < sent_; ++next_) {
    bits.refill(input);
    if (bits.count < 3) return Progress::kNeedsInput;
    lengths_of_lengths_[kOrder[next_]] = static_cast<std::uint8_t>(bits.take(3));
  }
  if (!make_lengths_table(lengths_of_lengths_, table_)) return Progress::kDamaged;
  next_ = 0;
  stage_ = Stage::kLengths;
  return Progress::kDone;
}

Progress CodesReader::read_lengths(BitReader& bits, Input& input) {
  const std::size_t count = literals_ + distances_;
  while (next_ < count) {
    bits.refill(input);
    const std::uint32_t e = table_.entries[bits.peek(LengthsTable::kRootBits)];
    const std::uint32_t value = entry::value(e);
    const Repeat repeat = value < kRepeatLast ? Repeat{0, 1} : kRepeats[value - kRepeatLast];
    if (entry::bits(e) + repeat.extra_bits > bits.count) return Progress::kNeedsInput;
    bits.drop(entry::bits(e));
    const std::size_t times = repeat.least + bits.take(repeat.extra_bits);
    if (times > count - next_ || (value == kRepeatLast && next_ == 0)) return Progress::kDamaged;
    const std::uint8_t length = value < kRepeatLast    ? static_cast<std::uint8_t>(value)
                                : value == kRepeatLast ? lengths_[next_ - 1]
                                                       : std::uint8_t{0};
    std::fill_n(lengths_.begin() + static_cast<std::ptrdiff_t>(next_), times, length);
    next_ += times;
  }
  return Progress::kDone;
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
