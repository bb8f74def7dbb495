// Deflate streams of every kind of block, made by hand, with what they inflate to.
#pragma once

#include <cstddef>
#include <string>

#include "tests/random.h"

namespace penstock::tests {

struct Deflated {
  std::string stream;
  std::string plain;
};

// Blocks that are stored, in the fixed codes or in codes drawn at random, short ones and ones of 15 bits.
Deflated deflate_stream(Random& random);

// What a stream is made of: so many literals in a row at most, matches between them, stored blocks now and then.
struct Mixture {
  std::size_t max_literals;
  std::size_t shortest_match, longest_match, farthest_match;  // 0: none
  bool stored;
};

// A stream of exactly `size` bytes, in the fixed codes where it is not stored.
Deflated deflate_mixture(Random& random, const Mixture& mixture, std::size_t size);

}  // namespace penstock::tests
