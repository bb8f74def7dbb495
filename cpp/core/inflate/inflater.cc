#include "core/inflate/inflater.h"

#include <algorithm>

namespace penstock::inflate {
namespace {

template <typename Table>
Found find(const Table& table, const BitReader& bits) {
  const std::uint32_t e = table.entries[bits.peek(Table::kRootBits)];
  if ((e & entry::kSubtable) == 0) return {e};
  const std::uint64_t after = bits.held >> Table::kRootBits;
  return {table.entries[entry::value(e) + (after & ((1u << entry::code_bits(e)) - 1))], Table::kRootBits};
}

std::uint32_t take_with_extra(const Found& found, BitReader& bits) {
  return entry::value(found.entry) + (bits.take(found.bits()) >> found.code_bits());
}

}  // namespace

Stop Inflater::advance() {
  while (advance_to_loop()) {
    if (alone_ == 0 && SpeculativeDecoder::fits(input_, output_))
      run_speculatively();
    else
      run_alone();
  }
  if (state_ == State::kDamaged) return Stop::kDamaged;
  if (state_ != State::kDone) return stop_reason_;
  bits_.give_back(input_);
  return Stop::kDone;
}

bool Inflater::advance_to_loop() {
  for (bool goes_on = true; goes_on;) {
    switch (state_) {
      case State::kHeader:
        goes_on = read_header();
        break;
      case State::kCodes:
        goes_on = read_codes();
        break;
      case State::kStoredSize:
        goes_on = read_stored_size();
        break;
      case State::kStored:
        goes_on = copy_stored();
        break;
      case State::kSymbols:
        if (DecodeLoop::fits(input_, output_)) return true;
        goes_on = decode_symbol();
        break;
      case State::kDone:
      case State::kDamaged:
        return false;
    }
  }
  return false;
}

void Inflater::leave(const DecodeLoop& loop, Step step) {
  loop.leave(bits_, input_, output_);
  if (step == Step::kBlockEnds) end_block();
  if (step == Step::kDamaged) state_ = State::kDamaged;
}

void Inflater::run_alone() {
  DecodeLoop loop = enter();
  if (alone_ != 0) loop.stop_before(input_.next + std::min<std::ptrdiff_t>(alone_, input_.end - input_.next));
  alone_ = 0;
  const Step step = run_loop(loop);
  leave(loop, step);
}

void Inflater::run_speculatively() {
  SpeculativeDecoder speculative(bits_, input_, *codes_, *speculative_memory_);
  DecodeLoop loop = enter();
  const Step step = speculative.run(loop);
  leave(loop, step);
  failures_ = meet(speculative) ? 0 : failures_ + 1;
  // One failure is normal where a block ends. Several in a row: blocks are short, or the codes do not synchronize.
  if (failures_ > 1) alone_ = SpeculativeDecoder::kLead << std::min(failures_, 6u);
}

bool Inflater::meet(const SpeculativeDecoder& speculative) {
  while (state_ == State::kSymbols && unread_bits(bits_, input_) > speculative.meeting())
    if (!decode_symbol()) return false;
  if (state_ != State::kSymbols || unread_bits(bits_, input_) != speculative.meeting()) return false;
  const std::optional<Step> step = speculative.take_over(bits_, input_, output_);
  if (!step) return false;
  if (*step == Step::kBlockEnds) end_block();
  if (*step == Step::kDamaged) state_ = State::kDamaged;
  return true;
}

void Inflater::skip_bits(unsigned bits) {
  bits_.refill(input_);
  bits_.drop(std::min(bits, bits_.count));
}

bool Inflater::read_header() {
  if (stop_at_block_ && !at_block_) {
    stop_at_block_ = false;
    at_block_ = true;
    return stop_for(Stop::kBlock);
  }
  bits_.refill(input_);
  if (bits_.count < 3) return stop_for(Stop::kNeedsInput);
  at_block_ = false;
  last_block_ = bits_.take(1) != 0;
  switch (bits_.take(2)) {
    case 0:
      bits_.drop(bits_.count % 8);
      state_ = State::kStoredSize;
      break;
    case 1:
      codes_ = &fixed_codes();
      state_ = State::kSymbols;
      break;
    case 2:
      codes_reader_ = {};
      state_ = State::kCodes;
      break;
    default:
      state_ = State::kDamaged;
  }
  return true;
}

bool Inflater::read_codes() {
  const Progress progress = codes_reader_.read(bits_, input_, *own_codes_);
  if (progress == Progress::kNeedsInput) return stop_for(Stop::kNeedsInput);
  codes_ = own_codes_.get();
  state_ = progress == Progress::kDone ? State::kSymbols : State::kDamaged;
  return true;
}

bool Inflater::read_stored_size() {
  bits_.refill(input_);
  if (bits_.count < 32) return stop_for(Stop::kNeedsInput);
  stored_left_ = bits_.take(16);
  state_ = (stored_left_ ^ 0xFFFF) == bits_.take(16) ? State::kStored : State::kDamaged;
  bits_.give_back(input_);
  return true;
}

bool Inflater::copy_stored() {
  const std::size_t size = std::min({stored_left_, unread(), output_left()});
  if (size != 0) std::memcpy(output_.next, input_.next, size);
  input_.next += size;
  output_.next += size;
  stored_left_ -= size;
  if (stored_left_ != 0) return stop_for(output_left() == 0 ? Stop::kNeedsOutput : Stop::kNeedsInput);
  end_block();
  return true;
}

// For the ends of input and output, where every step is checked. One refill is enough: a symbol has at most 48 bits.
bool Inflater::decode_symbol() {
  bits_.refill(input_);
  const Found symbol = find(codes_->literals, bits_);
  if (symbol.bits() > bits_.count) return stop_for(Stop::kNeedsInput);
  if (entry::is_literal(symbol.entry)) {
    if (output_left() == 0) return stop_for(Stop::kNeedsOutput);
    bits_.drop(symbol.bits());
    *output_.next++ = static_cast<std::byte>(entry::value(symbol.entry));
    return true;
  }
  if ((symbol.entry & entry::kSpecial) == 0) return decode_match(symbol);
  bits_.drop(symbol.bits());
  if (entry::value(symbol.entry) != 0)
    end_block();
  else
    state_ = State::kDamaged;
  return true;
}

bool Inflater::decode_match(const Found& symbol) {
  BitReader bits = bits_;  // kept unchanged if the rest of the match is not there yet
  const std::size_t length = take_with_extra(symbol, bits);
  const Found place = find(codes_->distances, bits);
  if (place.bits() > bits.count) return stop_for(Stop::kNeedsInput);
  const std::size_t distance = (place.entry & entry::kSpecial) != 0 ? 0 : take_with_extra(place, bits);
  if (distance == 0 || distance > static_cast<std::size_t>(output_.next - output_.begin)) {
    state_ = State::kDamaged;
    return true;
  }
  if (length > output_left()) return stop_for(Stop::kNeedsOutput);
  for (std::size_t i = 0; i < length; ++i, ++output_.next) *output_.next = *(output_.next - distance);
  bits_ = bits;
  return true;
}

void Inflater::run_interleaved(Inflater& one, Inflater& other) {
  while (one.advance_to_loop() && other.advance_to_loop()) {
    DecodeLoop first = one.enter(), second = other.enter();
    const Steps steps = run_loops(first, second);
    one.leave(first, steps.one);
    other.leave(second, steps.other);
  }
  one.run();
  other.run();
}

}  // namespace penstock::inflate
