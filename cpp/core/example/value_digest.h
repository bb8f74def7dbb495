// Digests of the values of an Example: equal for records that are equal by value, however they are encoded.
//
// The order of features, packed or unpacked lists, and the encoding of numbers do not count; of a repeated key the last
// entry does, and a feature without a kind is absent. Floats are compared by their bits. The seed should be random:
// nobody can then make records that differ and have the same digest on purpose.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

#include "core/example/wire.h"

namespace penstock {

struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  auto operator<=>(const Digest&) const = default;
};

// The digest of some bytes.
Digest digest_bytes(wire::Bytes bytes, std::uint64_t seed);

struct ExampleDigest {
  Digest values;
  Digest key;  // of the feature that was asked for; zero if the record does not have it
};

// The digest of an Example or SequenceExample, and of one context feature. A record that is neither is its bytes.
ExampleDigest digest_example(wire::Bytes record, std::string_view key, std::uint64_t seed);

}  // namespace penstock
