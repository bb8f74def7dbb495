// Deflate streams of every kind of block, made by hand, with what they inflate to.
#pragma once

#include <string>

#include "tests/random.h"

namespace penstock::tests {

struct Deflated {
  std::string stream;
  std::string plain;
};

// Blocks that are stored, in the fixed codes or in codes drawn at random, short ones and ones of 15 bits.
Deflated deflate_stream(Random& random);

}  // namespace penstock::tests
