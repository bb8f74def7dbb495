#include "core/inflate/inflater.h"

#include "core/inflate/block_header.h"

namespace penstock::inflate {
namespace {

// The entry of the next code, and the bits that it accounts for, those of the root included. There may be fewer.
struct Found {
  std::uint32_t entry;
  unsigned root = 0;

  unsigned bits() const { return root + entry::bits(entry); }
  unsigned code_bits() const { return root + entry::code_bits(entry); }
};

template <typename Table>
Found find(const Table& table, const Bits& bits) {
  const std::uint32_t e = table.entries[bits.peek(Table::kRootBits)];
  if ((e & entry::kSubtable) == 0) return {e};
  const std::uint64_t behind = bits.held >> Table::kRootBits;
  return {table.entries[entry::value(e) + (behind & ((1u << entry::code_bits(e)) - 1))], Table::kRootBits};
}

std::uint32_t take_with_extra(const Found& found, Bits& bits) {
  return entry::value(found.entry) + (bits.take(found.bits()) >> found.code_bits());
}

}  // namespace

bool Inflater::run() {
  while (to_lane()) {
    Lane lane = enter();
    const Step step = run_lane(lane);
    leave(lane, step);
  }
  bits_.give_back(input_);
  return state_ == State::kDone && input_.next == input_.end && output_.next == output_.end;
}

bool Inflater::to_lane() {
  for (;;) {
    switch (state_) {
      case State::kHeader:
        read_header();
        break;
      case State::kSymbols:
        if (Lane::fits(input_, output_)) return true;
        decode_symbol();
        break;
      case State::kDone:
      case State::kDamaged:
        return false;
    }
  }
}

void Inflater::leave(const Lane& lane, Step step) {
  lane.leave(bits_, input_, output_);
  if (step == Step::kBlockEnds) end_block();
  if (step == Step::kDamaged) state_ = State::kDamaged;
}

void Inflater::read_header() {
  state_ = State::kDamaged;  // until it is read
  bits_.refill(input_);
  if (bits_.count < 3) return;
  last_block_ = bits_.take(1) != 0;
  switch (bits_.take(2)) {
    case 0:
      return copy_stored();
    case 1:
      codes_ = &fixed_codes();
      state_ = State::kSymbols;
      return;
    case 2:
      codes_ = own_codes_.get();
      if (read_codes(bits_, input_, *own_codes_)) state_ = State::kSymbols;
      return;
  }
}

void Inflater::copy_stored() {
  bits_.drop(bits_.count % 8);
  bits_.refill(input_);
  if (bits_.count < 32) return;
  const std::size_t size = bits_.take(16);
  if ((size ^ 0xFFFF) != bits_.take(16)) return;
  bits_.give_back(input_);
  if (size > static_cast<std::size_t>(input_.end - input_.next)) return;
  if (size > static_cast<std::size_t>(output_.end - output_.next)) return;
  if (size != 0) std::memcpy(output_.next, input_.next, size);
  input_.next += size;
  output_.next += size;
  end_block();
}

// Near the ends of input and output, where every step is checked.
void Inflater::decode_symbol() {
  const State before = state_;
  state_ = State::kDamaged;  // until it is decoded
  const auto room = [&] { return static_cast<std::size_t>(output_.end - output_.next); };

  bits_.refill(input_);
  const Found symbol = find(codes_->literals, bits_);
  if (entry::is_literal(symbol.entry)) {  // of two, the first
    if (symbol.code_bits() > bits_.count || room() == 0) return;
    bits_.drop(symbol.code_bits());
    *output_.next++ = static_cast<std::byte>(entry::value(symbol.entry));
    state_ = before;
    return;
  }
  if (symbol.bits() > bits_.count) return;
  if ((symbol.entry & entry::kSpecial) != 0) {
    bits_.drop(symbol.bits());
    if (entry::value(symbol.entry) != 0) end_block();
    return;
  }
  const std::size_t length = take_with_extra(symbol, bits_);
  bits_.refill(input_);
  const Found place = find(codes_->distances, bits_);
  if (place.bits() > bits_.count || (place.entry & entry::kSpecial) != 0) return;
  const std::size_t distance = take_with_extra(place, bits_);
  if (distance > static_cast<std::size_t>(output_.next - output_.begin) || length > room()) return;
  for (std::size_t i = 0; i < length; ++i, ++output_.next) *output_.next = *(output_.next - distance);
  state_ = before;
}

void Inflater::run_in_turns(Inflater& one, Inflater& other) {
  while (one.to_lane() && other.to_lane()) {
    Lane first = one.enter(), second = other.enter();
    const Steps steps = run_lanes(first, second);
    one.leave(first, steps.one);
    other.leave(second, steps.other);
  }
  one.run();
  other.run();
}

}  // namespace penstock::inflate
