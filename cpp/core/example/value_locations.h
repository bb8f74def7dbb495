// Finds where single values lie in Examples that hold many of them, so that one is read without the others.
//
// An Example with a whole episode has, for each feature, a list with a value for each step: byte strings, or floats
// that are cut into values of equal size. The checksum of a record covers all of it, so each value gets its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/chunk.h"
#include "core/example/wire.h"

namespace penstock {

struct LocatedFeature {
  std::string key;
  std::size_t float_bytes = 0;  // the bytes of one value in a list of floats; 0: the values are byte strings
};

// The values of one feature in many records, in order.
struct ValueLocations {
  std::vector<std::uint64_t> counts;   // of each record
  std::vector<std::uint64_t> offsets;  // in the stream of the chunk; the rest are of each value
  std::vector<std::uint64_t> lengths;
  std::vector<std::uint32_t> checksums;  // CRC32C
};

enum class LocateFaultKind : std::uint8_t {
  kMalformed,   // the bytes are no Example
  kWrongKind,   // the list has another kind
  kNotDivided,  // the floats do not divide into values
  kScattered,   // a value is not in one piece: no serializer writes it so
};

struct LocateFault {
  LocateFaultKind kind;
  std::size_t record;   // of the chunk
  std::size_t feature;  // of those requested; their number where the record is malformed
};

// Appends the values of each record to `found`, which has an entry for each feature. A feature that is missing, or not
// set, has no values. Stops at the first fault; `found` is then of no use.
std::optional<LocateFault> locate_values(const Chunk& chunk, const std::vector<LocatedFeature>& features,
                                         std::vector<ValueLocations>& found);

}  // namespace penstock
