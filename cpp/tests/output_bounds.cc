// Inflates into memory that ends anywhere near where the inflater would, under AddressSanitizer: it copies in words,
// and must know which of them still fit.
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

// Fills a room of exactly that size as far as the stream allows.
void check_output_size(const Deflated& made, std::size_t size) {
  const std::unique_ptr<std::byte[]> memory(new std::byte[size]);
  Inflater inflater(std::as_bytes(std::span(made.stream)), {memory.get(), size});
  const Stop stop = inflater.advance();
  const auto size = static_cast<std::size_t>(inflater.output().next - memory.get());
  require(stop == (size < made.plain.size() ? Stop::kNeedsOutput : Stop::kDone),
          "an inflater stops for another reason");
  require(size + 258 > std::min(size, made.plain.size()), "room is left although a match would fit");
  require(std::memcmp(memory.get(), made.plain.data(), size) == 0, "a stream inflates to something else");
}

// There are scouts from a room of 16,384 bytes on. Where a stream grows four or five times, what the first of them
// found ends in the dense part, wherever that is.
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
    const auto check_sizes = [&](std::size_t from, std::size_t to, std::size_t step) {
      for (; from < to; from += step, ++outputs) check_output_size(longer, from);
    };
    check_sizes(1, kShort, 1);
    check_sizes(kSpeculative, kDense, 1);
    check_sizes(kDense, kMax, 97);
    for (std::size_t size = 1; size < kMax; size += 1 + random.below(size)) {
      const Deflated made = deflate_mixture(random, mixture, size);
      for (std::size_t size = size - 1; size <= size + 40; ++size, ++outputs) check_output_size(made, size);
    }
  }
  std::printf("inflated into %zu rooms\n", outputs);
  return 0;
}

}  // namespace
}  // namespace penstock::tests

int main() { return penstock::tests::main(); }
