// Why a record does not decode.
#pragma once

#include <cstdint>

#include "core/example/feature.h"

namespace penstock {

enum class ExampleFault : std::uint8_t {
  kNone,
  kMalformed,    // the bytes are no Example
  kOther,        // another message than an Example
  kTooLarge,     // longer than an Example may be
  kMissing,      // a required feature is absent
  kWrongKind,    // another list than the feature's
  kWrongCount,   // not as many values as the shape asks for
  kNotMultiple,  // a ragged row that is no whole number of items
  kRawSize,      // raw bytes of another size than the shape asks for
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
