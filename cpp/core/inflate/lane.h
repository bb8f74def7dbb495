// Decodes the symbols of a block as fast as it goes, where input and output have room to spare.
//
// Each look-up waits for the one before it: a lane is bound by latency. Several lanes, of independent streams, in turns
// in one thread fill the time.
#pragma once

#include "core/inflate/bits.h"
#include "core/inflate/code_table.h"

#ifdef _MSC_VER
#define PENSTOCK_INLINE __forceinline
#else
#define PENSTOCK_INLINE __attribute__((always_inline)) inline
#endif

namespace penstock::inflate {

struct Output {
  std::byte* begin;  // matches reach back to here
  std::byte* next;
  std::byte* end;
};

enum class Step { kGoOn, kBlockEnds, kDamaged };

class Lane {
 public:
  static constexpr int kLookUps = 56 / LiteralTable::kRootBits;  // that a refill is good for

  // Of a step: two refills; pairs of literals, and a match that is copied in words.
  static constexpr std::ptrdiff_t kInputRoom = 16, kOutputRoom = 16 + 258 + 16;

  static bool fits(const Input& input, const Output& output) {
    return input.end - input.next >= kInputRoom && output.end - output.next >= kOutputRoom;
  }

  Lane(const Bits& bits, const Input& input, const Output& output, const BlockCodes& codes)
      : held_(bits.held),
        count_(bits.count),
        in_(input.next),
        out_(output.next),
        last_in_(input.end - kInputRoom),
        last_out_(output.end - kOutputRoom),
        begin_(output.begin),
        literals_(codes.literals.entries.data()),
        distances_(codes.distances.entries.data()) {}

  PENSTOCK_INLINE bool has_room() const { return in_ <= last_in_ && out_ <= last_out_; }

  // Makes sure of 56 bits.
  PENSTOCK_INLINE void refill() {
    held_ |= load_le64(in_) << count_;
    in_ += (63 - count_) >> 3;
    count_ |= 56;
  }

  PENSTOCK_INLINE std::uint32_t look_up() const { return literals_[held_ & ((1u << LiteralTable::kRootBits) - 1)]; }

  PENSTOCK_INLINE void put_literals(std::uint32_t e) {
    const auto both = static_cast<std::uint16_t>(entry::value(e));
    std::memcpy(out_, &both, sizeof both);
    out_ += entry::literals(e);
    pass(entry::bits(e));
  }

  // What is no literal by its root. One refill is enough: at most 20 bits say the length and 28 the distance.
  PENSTOCK_INLINE Step other(std::uint32_t e) {
    refill();
    if ((e & entry::kSubtable) != 0) {
      pass(LiteralTable::kRootBits);
      e = literals_[entry::value(e) + peek(entry::code_bits(e))];
      if (entry::is_literal(e)) {
        put_literals(e);
        return Step::kGoOn;
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
    if (distance > static_cast<std::size_t>(out_ - begin_)) return Step::kDamaged;
    copy(distance, length);
    return Step::kGoOn;
  }

  // Hands back where it came to.
  void leave(Bits& bits, Input& input, Output& output) const {
    bits.count = count_;
    bits.held = held_ & ((std::uint64_t{1} << count_) - 1);
    input.next = in_;
    output.next = out_;
  }

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

  // Writes up to 15 bytes more than it has to.
  PENSTOCK_INLINE void copy(std::size_t distance, std::size_t length) {
    const std::byte* from = out_ - distance;
    std::byte* const end = out_ + length;
    std::byte* to = out_;
    out_ = end;
    if (distance >= 16) {
      do {
        std::memcpy(to, from, 16);
        to += 16;
        from += 16;
      } while (to < end);
    } else if (distance == 1) {
      std::memset(to, static_cast<int>(*from), length);
    } else {
      // Words overlap what they are copied from: of each, the first `distance` bytes are right.
      const std::size_t step = distance < 8 ? distance : 8;
      do {
        const std::uint64_t word = load_le64(from);
        store_le64(to, word);
        to += step;
        from += step;
      } while (to < end);
    }
  }

  std::uint64_t held_;
  unsigned count_;
  const std::byte* in_;
  std::byte* out_;
  const std::byte* last_in_;
  std::byte* last_out_;
  const std::byte* begin_;
  const std::uint32_t* literals_;
  const std::uint32_t* distances_;
};

// Each runs until a block ends, there is damage, or a lane lacks room.
Step run_lane(Lane& lane);

struct Steps {
  Step one = Step::kGoOn, other = Step::kGoOn;
};
Steps run_lanes(Lane& first, Lane& second);

}  // namespace penstock::inflate
