// Invariants that hold for any bytes. A check that fails reports it and aborts.
#pragma once

#include <string>

#include "core/example/batch.h"
#include "core/frame_buffer.h"
#include "tests/columns.h"
#include "tests/random.h"

namespace penstock::tests {

// Nothing is read or written out of bounds, memory stays below a small multiple of the input, the result does not
// depend on how the work is divided, and what decodes also encodes, to a record that decodes to the same.
void check_record(Random& random, BatchDecoder& decoder, FrameBuffer& frames, const std::string& record);

// A file reads the same in pieces of any size, and the search finds every header.
void check_frames(Random& random, const std::string& file);

// All varint kernels that this CPU supports return the same.
void check_varint_kernels(Random& random);

// Fixes the checksums of a file, so that the code after them is reached; lengths stay unchanged.
void seal(std::string& file);

// Bytes of memory per byte of input: the maximum for large inputs so far.
std::size_t largest_use();

// Aborts if the condition is false.
void require(bool holds, const char* what);

// Called when a check fails, to print the input.
inline void (*before_death)() = [] {};

}  // namespace penstock::tests
