// A second decode loop for a single stream.
//
// A loop is bound by latency, so two interleaved ones take little longer than one. But a stream is decoded from its
// start. The speculative loop therefore starts some way ahead at a guess, most likely inside a code. Codes have
// different lengths, so it synchronizes with the stream after some tens of symbols. It stores what it decodes from then
// on: literals, and notes of matches, whose source is not decoded yet. If the main loop arrives at exactly the position
// where that begins, both would decode the same, and the result is taken over. Otherwise it is dropped, at the cost of
// time only.
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

  // Starts ahead of `bits` and `input`.
  SpeculativeDecoder(const BitReader& bits, const Input& input, const BlockCodes& codes, Memory& memory);

  // Runs interleaved with the main loop until that is close to the meeting point, or stops before. Returns its last
  // step.
  Step run(DecodeLoop& loop);

  // The meeting point, in bits before the end of the input; more than there are if the loops cannot meet.
  std::size_t meeting() const { return meeting_; }

  // Appends the speculative result to the output, and advances to where it ends. Returns nothing if it does not fit.
  std::optional<Step> take_over(BitReader& bits, Input& input, Output& output) const;

 private:
  static constexpr std::ptrdiff_t kSyncBytes = 96;  // bytes of input within which it usually synchronizes

  SpeculativeLoop enter() const;

  const BlockCodes& codes_;
  Memory& memory_;
  BitReader bits_;
  Input input_;
  Step step_ = Step::kContinue;
  std::size_t meeting_ = std::numeric_limits<std::size_t>::max();
  const std::byte* literals_end_ = nullptr;
  const std::byte* last_note_ = nullptr;
};

}  // namespace penstock::inflate
