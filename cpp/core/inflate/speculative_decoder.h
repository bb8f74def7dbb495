// A second lane for a single stream.
//
// A lane is bound by latency, so two of them in turns take little longer than one, but a stream is decoded from its
// start. A scout begins some way ahead all the same, at a guess, most likely inside a code. Since codes are of
// different lengths it falls into step with the stream after some tens of symbols. What it decodes from then on it
// keeps: literals, and notes of matches, for what they repeat is not there yet. If the lane comes to the very place
// where that begins, both would decode the same, and all of it is taken over. Else it is dropped, and nothing is lost
// but time.
#pragma once

#include <array>
#include <limits>
#include <optional>

#include "core/inflate/decode_loop.h"

namespace penstock::inflate {

class SpeculativeDecoder {
 public:
  using Memory = std::array<std::byte, std::size_t{1} << 13>;

  static constexpr std::ptrdiff_t kLead = 2048;  // bytes of input

  static bool fits(const Input& input, const Output& output) {
    return input.end - input.next >= 3 * kLead && output.end - output.next >= 8 * kLead;
  }

  // Ahead of where `bits` and `input` are.
  SpeculativeDecoder(const Bits& bits, const Input& input, const BlockCodes& codes, Memory& memory);

  // Runs in turns with the lane until that is close to where they may meet, or stops before. Answers its last step.
  Step run(DecodeLoop& loop);

  // Where they may meet, as a number of bits before the end of the input; more than there are where they cannot.
  std::size_t meeting() const { return meeting_; }

  // Appends what the scout decoded to the output, and goes on to where it came to. Nothing where it does not fit.
  std::optional<Step> take_over(Bits& bits, Input& input, Output& output) const;

 private:
  static constexpr std::ptrdiff_t kFallIn = 96;  // bytes of input in which a scout falls into step, as a rule

  SpeculativeLoop enter() const;

  const BlockCodes& codes_;
  Memory& memory_;
  Bits bits_;
  Input input_;
  Step step_ = Step::kContinue;
  std::size_t meeting_ = std::numeric_limits<std::size_t>::max();
  const std::byte* literals_end_ = nullptr;
  const std::byte* last_note_ = nullptr;
};

}  // namespace penstock::inflate
