// Invariants that hold for any deflate data.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tests/random.h"

namespace penstock::tests {

// Inflates `stream` into `size` bytes: alone, interleaved with another stream, and in parts, with the same result.
// Inputs and outputs end where memory ends. True if it inflates to `plain`.
bool check_inflate(Random& random, const std::string& stream, std::size_t size, std::string& plain);

// A handmade stream inflates to its content, and a mutated one triggers no sanitizer.
void check_deflate_stream(Random& random);

}  // namespace penstock::tests
