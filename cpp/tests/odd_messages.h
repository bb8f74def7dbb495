// Examples and SequenceExamples as no serializer writes them, and bytes that are no longer either.
#pragma once

#include <string>

#include "tests/random.h"

namespace penstock::tests {

// The keys that messages have and plans ask for.
inline constexpr const char* kKeys[] = {"a", "b", "c", "id", "label", "12345678", "longer_than_eight", ""};

// A message whose lengths are right, with every oddity that the wire format allows: lists packed, unpacked and both,
// kinds set twice, keys twice, values in pieces, values before keys, unknown fields, long spellings of short numbers.
std::string odd_message(Random& random, bool sequence_example);

// Tens of kilobytes of one very small thing: what would cost the most memory for its size.
std::string crowded_message(Random& random, bool sequence_example);

// Changes some bytes: flips, edits of lengths, insertions, deletions, repetitions, splices with `other`, cuts.
void mutate(Random& random, std::string& bytes, const std::string& other);

}  // namespace penstock::tests
