// The fast path: decodes the symbols of a block while input and output have enough margin for unchecked steps.
//
// Each look-up depends on the previous one, so a loop is bound by latency. Interleaving loops over independent streams
// in one thread uses the idle time.
#pragma once

#include <algorithm>

#include "core/inflate/bit_reader.h"
#include "core/inflate/code_table.h"
#include "core/inflate/match_copy.h"

namespace penstock::inflate {

// The maximum distance of a match.
inline constexpr std::size_t kWindowBytes = std::size_t{1} << 15;

struct Output {
  std::byte* begin;  // the oldest byte that matches may refer to
  std::byte* next;
  std::byte* end;
};

enum class Step { kContinue, kBlockEnds, kDamaged };

template <typename Matches>
class BasicDecodeLoop {
 public:
  static constexpr int kLookUps = 56 / LiteralTable::kRootBits;  // per refill

  // Per step: two refills; literals, and a match that is copied in words.
  static constexpr std::ptrdiff_t kInputMargin = 16, kOutputMargin = kLookUps + 258 + kCopySlack;

  static bool fits(const Input& input, const Output& output) {
    return input.end - input.next >= kInputMargin && output.end - output.next >= kOutputMargin;
  }

  BasicDecodeLoop(const BitReader& bits, const Input& input, const Output& output, const Matches& matches,
                  const BlockCodes& codes)
      : held_(bits.held),
        count_(bits.count),
        in_(input.next),
        out_(output.next),
        last_in_(input.end - kInputMargin),
        last_out_(output.end - kOutputMargin),
        matches_(matches),
        literals_(codes.literals.entries.data()),
        distances_(codes.distances.entries.data()) {}

  PENSTOCK_INLINE bool has_margin() const { return in_ <= last_in_ && out_ <= last_out_; }

  // Ensures at least 56 bits.
  PENSTOCK_INLINE void refill() {
    held_ |= load_le64(in_) << count_;
    in_ += (63 - count_) >> 3;
    count_ |= 56;
  }

  PENSTOCK_INLINE std::uint32_t look_up() const { return literals_[held_ & ((1u << LiteralTable::kRootBits) - 1)]; }

  PENSTOCK_INLINE void put_literal(std::uint32_t e) {
    *out_++ = static_cast<std::byte>(entry::value(e));
    pass(entry::bits(e));
  }

  // Handles anything but a literal in the root table. One refill is enough: a length has at most 20 bits and a distance
  // 28.
  PENSTOCK_INLINE Step other(std::uint32_t e) {
    refill();
    if ((e & entry::kSubtable) != 0) {
      pass(LiteralTable::kRootBits);
      e = literals_[entry::value(e) + peek(entry::code_bits(e))];
      if (entry::is_literal(e)) {
        put_literal(e);
        return Step::kContinue;
      }
    }
    if ((e & entry::kSpecial) != 0) {
      pass(entry::bits(e));
      return entry::value(e) != 0 ? Step::kBlockEnds : Step::kDamaged;
    }
    const std::size_t length = with_extra(e);
    std::uint32_t d = distances_[peek(DistanceTable::kRootBits)];
    if ((d & entry::kSubtable) != 0) {
      pass(DistanceTable::kRootBits);
      d = distances_[entry::value(d) + peek(entry::code_bits(d))];
    }
    if ((d & entry::kSpecial) != 0) return Step::kDamaged;
    const std::size_t distance = with_extra(d);
    return matches_.put(distance, length, out_, last_out_) ? Step::kContinue : Step::kDamaged;
  }

  // Makes the loop stop before it reaches `place`.
  void stop_before(const std::byte* place) { last_in_ = std::min(last_in_, place - kInputMargin); }

  // Stores the current state.
  void leave(BitReader& bits, Input& input, Output& output) const {
    bits.count = count_;
    bits.held = held_ & ((std::uint64_t{1} << count_) - 1);
    input.next = in_;
    output.next = out_;
  }

  const Matches& matches() const { return matches_; }

 private:
  PENSTOCK_INLINE void pass(unsigned bits) {
    held_ >>= bits & 63;
    count_ -= bits;
  }
  PENSTOCK_INLINE std::uint32_t peek(unsigned bits) const {
    return static_cast<std::uint32_t>(held_) & ((1u << bits) - 1);
  }
  PENSTOCK_INLINE std::uint32_t with_extra(std::uint32_t e) {
    const std::uint32_t value = entry::value(e) + (peek(entry::bits(e)) >> entry::code_bits(e));
    pass(entry::bits(e));
    return value;
  }

  std::uint64_t held_;
  unsigned count_;
  const std::byte* in_;
  std::byte* out_;
  const std::byte* last_in_;
  std::byte* last_out_;
  Matches matches_;
  const std::uint32_t* literals_;
  const std::uint32_t* distances_;
};

using DecodeLoop = BasicDecodeLoop<CopiedMatches>;
using SpeculativeLoop = BasicDecodeLoop<RecordedMatches>;

// Each runs until a block ends, there is damage, or a loop lacks margin.
Step run_loop(DecodeLoop& loop);

struct Steps {
  Step one = Step::kContinue, other = Step::kContinue;
};
Steps run_loops(DecodeLoop& first, DecodeLoop& second);
Steps run_loops(DecodeLoop& first, SpeculativeLoop& second);

}  // namespace penstock::inflate
