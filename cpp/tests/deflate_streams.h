// Handmade deflate streams with every kind of block, and what they inflate to.
#pragma once

#include <cstddef>
#include <string>

#include "tests/random.h"

namespace penstock::tests {

struct Deflated {
  std::string stream;
  std::string plain;
};

// Stored blocks, fixed codes and random codes, from short ones up to 15 bits.
Deflated deflate_stream(Random& random);

// The composition of a stream: up to so many literals in a row, matches between them, and some stored blocks.
struct Mixture {
  std::size_t max_literals;
  std::size_t shortest_match, longest_match, farthest_match;  // 0: none
  bool stored;
};

// A stream of exactly `size` bytes, in fixed codes unless stored.
Deflated deflate_mixture(Random& random, const Mixture& mixture, std::size_t size);

}  // namespace penstock::tests
