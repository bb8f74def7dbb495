// What has to hold whatever the bytes. A check that fails says so and aborts.
#pragma once

#include <string>

#include "core/example/batch.h"
#include "core/frame_buffer.h"
#include "tests/columns.h"
#include "tests/random.h"

namespace penstock::tests {

// Nothing is read or written outside what is there, memory stays below a small multiple of the input, the answer does
// not depend on how the work is divided, and what decodes also encodes, to a record that decodes to the same.
void check_record(Random& random, BatchDecoder& decoder, FrameBuffer& frames, const std::string& record);

// A file reads the same in pieces of any size, and the search for headers finds each.
void check_frames(Random& random, const std::string& file);

// All ways to decode varints that this CPU has answer the same.
void check_varint_kernels(Random& random);

// Makes the checksums of a file right, so that what stands behind them is reached; lengths stay as they are.
void seal(std::string& file);

// Bytes of memory per byte of input: the most that a large input has needed so far.
std::size_t largest_use();

// Aborts where something does not hold.
void require(bool holds, const char* what);

// Called when a check fails, to say what the input was.
inline void (*before_death)() = [] {};

}  // namespace penstock::tests
