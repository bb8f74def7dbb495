// Inflates into outputs that end anywhere near the end of the data, under AddressSanitizer: the inflater copies in
// words, and must not write past the output.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/inflate/inflater.h"
#include "tests/checks.h"
#include "tests/deflate_streams.h"

namespace penstock::tests {
namespace {

using inflate::Inflater;
using inflate::Stop;

// Fills an output of exactly this capacity as far as the stream allows.
void check_output(const Deflated& made, std::size_t capacity) {
  const std::unique_ptr<std::byte[]> memory(new std::byte[capacity]);
  Inflater inflater(std::as_bytes(std::span(made.stream)), {memory.get(), capacity});
  const Stop stop = inflater.advance();
  const auto size = static_cast<std::size_t>(inflater.output().next - memory.get());
  require(stop == (capacity < made.plain.size() ? Stop::kNeedsOutput : Stop::kDone),
          "an inflater stops for the wrong reason");
  require(size + 258 > std::min(capacity, made.plain.size()), "output is left although a match would fit");
  require(std::memcmp(memory.get(), made.plain.data(), size) == 0, "a stream inflates to something else");
}

// Decoding is speculative from an output of 16,384 bytes on. If a stream grows four or five times, the first
// speculative result ends in the dense part.
constexpr std::size_t kShort = 2000, kSpeculative = 16'384, kDense = 21'000, kMax = 60'000;

constexpr Mixture kMixtures[] = {
    {.max_literals = 100, .shortest_match = 0, .longest_match = 0, .farthest_match = 0, .stored = false},
    {.max_literals = 4, .shortest_match = 257, .longest_match = 258, .farthest_match = 32'768, .stored = false},
    {.max_literals = 0, .shortest_match = 3, .longest_match = 22, .farthest_match = 3000, .stored = false},
    {.max_literals = 2, .shortest_match = 3, .longest_match = 32, .farthest_match = 3000, .stored = true},
    {.max_literals = 0, .shortest_match = 3, .longest_match = 13, .farthest_match = 1, .stored = false},
    {.max_literals = 3, .shortest_match = 3, .longest_match = 30, .farthest_match = 15, .stored = false},
};

int main() {
  std::size_t outputs = 0;
  for (const Mixture& mixture : kMixtures) {
    Random random(1);
    const Deflated longer = deflate_mixture(random, mixture, kMax + 40'000);
    const auto check_outputs = [&](std::size_t from, std::size_t to, std::size_t step) {
      for (; from < to; from += step, ++outputs) check_output(longer, from);
    };
    check_outputs(1, kShort, 1);
    check_outputs(kSpeculative, kDense, 1);
    check_outputs(kDense, kMax, 97);
    for (std::size_t size = 1; size < kMax; size += 1 + random.below(size)) {
      const Deflated made = deflate_mixture(random, mixture, size);
      for (std::size_t capacity = size - 1; capacity <= size + 40; ++capacity, ++outputs) check_output(made, capacity);
    }
  }
  std::printf("inflated into %zu outputs\n", outputs);
  return 0;
}

}  // namespace
}  // namespace penstock::tests

int main() { return penstock::tests::main(); }
