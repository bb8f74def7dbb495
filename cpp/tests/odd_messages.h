// Examples and SequenceExamples as no serializer writes them, and malformed ones.
#pragma once

#include <string>

#include "tests/random.h"

namespace penstock::tests {

// The keys that messages have and plans request.
inline constexpr const char* kKeys[] = {"a", "b", "c", "id", "label", "12345678", "longer_than_eight", ""};

// A well-formed message with every oddity that the wire format allows: packed and unpacked lists, kinds set twice,
// repeated keys, values in pieces, values before keys, unknown fields, overlong varints.
std::string odd_message(Random& random, bool sequence_example);

// Tens of kilobytes of one very small element: the highest memory cost for its size.
std::string crowded_message(Random& random, bool sequence_example);

// Changes some bytes: flips, edits of lengths, insertions, deletions, repetitions, splices with `other`, truncation.
void mutate(Random& random, std::string& bytes, const std::string& other);

}  // namespace penstock::tests
