#include "core/inflate/speculative_decoder.h"

namespace penstock::inflate {
namespace {

// Most runs of literals are at most this long: a copy of fixed size is predicted well.
constexpr std::size_t kMinCopied = 32;
static_assert(kMinCopied > kCopySlack);

}  // namespace

SpeculativeDecoder::SpeculativeDecoder(const BitReader& bits, const Input& input, const BlockCodes& codes,
                                       Memory& memory)
    : codes_(codes), memory_(memory), input_(input) {
  // Starts at the same bit of a byte, which is in sync immediately if all codes have eight bits.
  input_.next += kLead - (bits.count + 7) / 8;
  bits_.refill(input_);
  bits_.drop((8 - bits.count % 8) % 8);
}

SpeculativeLoop SpeculativeDecoder::enter() const {
  std::byte *const begin = memory_.data(), *const end = begin + memory_.size();
  return SpeculativeLoop(bits_, input_, {begin, begin, end}, RecordedMatches(begin, end), codes_);
}

Step SpeculativeDecoder::run(DecodeLoop& loop) {
  SpeculativeLoop guess = enter();
  guess.stop_before(input_.next + kSyncBytes);
  Steps steps = run_loops(loop, guess);
  if (steps.one != Step::kContinue || steps.other != Step::kContinue) return steps.one;
  Output forgotten;
  guess.leave(bits_, input_, forgotten);
  meeting_ = unread_bits(bits_, input_);

  SpeculativeLoop speculative = enter();
  loop.stop_before(input_.next - (bits_.count + 7) / 8);
  steps = run_loops(loop, speculative);
  step_ = steps.other;
  Output literals;
  speculative.leave(bits_, input_, literals);
  literals_end_ = literals.next;
  last_note_ = speculative.matches().last();
  return steps.one == Step::kContinue ? run_loop(loop) : steps.one;
}

std::optional<Step> SpeculativeDecoder::take_over(BitReader& bits, Input& input, Output& output) const {
  if (step_ == Step::kDamaged) return std::nullopt;  // the main loop must reach the damage by itself
  const std::byte *literals = memory_.data(), *const end = literals + memory_.size();
  auto size = static_cast<std::size_t>(literals_end_ - literals);
  const auto note_at = [](const std::byte* place) {
    Note note;
    std::memcpy(&note, place, sizeof note);
    return note;
  };
  for (const std::byte* place = last_note_; place != end; place += sizeof(Note)) size += note_at(place).length;
  if (size + kMinCopied > static_cast<std::size_t>(output.end - output.next)) return std::nullopt;

  std::byte* out = output.next;
  const auto put_literals = [&](const std::byte* until) {
    const auto count = static_cast<std::size_t>(until - literals);
    copy_words(out, literals, std::max(count, kMinCopied));
    out += count;
    literals = until;
  };
  for (const std::byte* place = end; place != last_note_;) {
    const Note note = note_at(place -= sizeof(Note));
    put_literals(memory_.data() + note.literals);
    if (note.distance > static_cast<std::size_t>(out - output.begin)) {
      output.next = out;
      return Step::kDamaged;
    }
    copy_match(out, note.distance, note.length);
    out += note.length;
  }
  put_literals(literals_end_);
  output.next = out;
  bits = bits_;
  input = input_;
  return step_;
}

}  // namespace penstock::inflate
