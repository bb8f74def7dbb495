// What has to hold of deflate data, whatever the bytes.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tests/random.h"

namespace penstock::tests {

// Inflates `stream` into `size` bytes: alone, in turns with another stream, and in parts. The answer is the same.
// Inputs and outputs end where memory ends. True where it inflates, to `plain`.
bool check_inflate(Random& random, const std::string& stream, std::size_t size, std::string& plain);

// A stream made by hand inflates to what it was made of, and nothing but the sanitizers minds one that is mutated.
void check_deflate_stream(Random& random);

}  // namespace penstock::tests
