// Why a record does not decode.
#pragma once

#include <cstdint>

#include "core/example/feature.h"

namespace penstock {

enum class ExampleFault : std::uint8_t {
  kNone,
  kMalformed,    // the bytes are not an Example
  kOther,        // a message other than an Example
  kTooLarge,     // longer than an Example may be
  kMissing,      // a required feature is absent
  kWrongKind,    // a different list than the feature's
  kWrongCount,   // a number of values other than the shape's
  kNotMultiple,  // a ragged row that is not a whole number of items
  kRawSize,      // raw bytes of a size other than the shape's
  kOutOfRange,   // an integer that the dtype cannot hold
  kInexact,      // a float that the dtype cannot hold exactly
};

struct DecodeFault {
  ExampleFault fault = ExampleFault::kNone;
  std::uint64_t row = 0;      // in the batch
  std::uint32_t feature = 0;  // index in the plan; meaningless with kMalformed and kTooLarge outside any feature
  bool in_feature = false;
  Kind found_kind = Kind::kUnset;
  std::uint64_t expected = 0;  // values or bytes
  std::uint64_t found = 0;
};

}  // namespace penstock
