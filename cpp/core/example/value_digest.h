// Digests of the values of an Example: equal for records that are equal by value, however they are encoded.
//
// The order of features, packed or unpacked lists, and the encoding of numbers do not count; of a repeated key the last
// entry does, and a feature without a kind is absent. Floats are compared by their bits. The seed should be random:
// nobody can then make records that differ and have the same digest on purpose.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/example/map_entries.h"
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

// Digests of Examples and SequenceExamples, and of one context feature. A record that is neither is its bytes. Reuses
// its memory from record to record; not thread-safe.
class ExampleDigester {
 public:
  ExampleDigester(std::string_view key, std::uint64_t seed) : key_(key), seed_(seed) {}
  ExampleDigest digest(wire::Bytes record);

 private:
  struct Entry {
    Section section;
    bool absent;
    wire::Bytes key;
    Digest digest;

    std::string_view name() const { return {reinterpret_cast<const char*>(key.data), key.size}; }
    bool operator<(const Entry& other) const {
      return section != other.section ? section < other.section : name() < other.name();
    }
  };

  bool read_entries(wire::Bytes record);
  void sort_and_drop_repeated();

  std::string key_;
  std::uint64_t seed_;
  std::vector<Entry> entries_;
};

}  // namespace penstock
