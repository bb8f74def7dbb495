// A compiled schema: what the decoder needs to know about each requested feature.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "core/example/feature.h"
#include "core/example/map_entries.h"

namespace penstock {

// How a value is stored in its column.
enum class Element : std::uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kView,  // an Arrow binary view, 16 bytes
  kRaw,   // the bytes of one bytes value are the memory of an item
};

enum class Missing : std::uint8_t {
  kError,    // the feature is required
  kEmpty,    // an empty row: ragged features
  kDefault,  // a row of defaults
  kInvalid,  // a row of zeros, or an empty one, marked in the validity mask
};

struct FeaturePlan {
  std::string key;
  Section section = Section::kContext;
  Kind kind = Kind::kInt64;
  Element element = Element::kInt64;
  std::uint64_t value_bytes = 8;  // of one value in the column
  std::uint64_t count = 1;        // values in an item
  bool ragged = false;            // a row (in a sequence: a step) holds any number of items, or exactly one
  Missing missing = Missing::kError;
  std::vector<std::byte> default_row;  // with kDefault: the memory of one row
  bool unset_takes_default = true;     // a key without a value counts as missing

  std::uint64_t item_bytes() const { return count * value_bytes; }
  bool sequence() const { return section == Section::kSequence; }
  // Whether all rows are of one size.
  bool dense() const { return !ragged && !sequence(); }
  // The bytes of dense rows. Throws std::bad_alloc if there cannot be as many: a schema may declare a shape of any
  // size.
  std::size_t bytes_of(std::size_t rows) const {
    if (item_bytes() != 0 && rows > std::numeric_limits<std::size_t>::max() / item_bytes()) throw std::bad_alloc();
    return rows * static_cast<std::size_t>(item_bytes());
  }
  bool has_mask() const { return missing == Missing::kInvalid; }
};

inline bool is_plain_scalar(const FeaturePlan& plan) {
  const bool plain = plan.element == Element::kFloat32 || plan.element == Element::kInt64;
  return plain && plan.count == 1 && !plan.ragged && !plan.sequence();
}

struct DecodePlan {
  std::vector<FeaturePlan> features;
  bool sequence_example = false;
  bool validate_all = false;   // also validate features that were not requested
  bool strict = false;         // reject other messages, which protobuf parses as empty Examples
  SharedBuffer default_bytes;  // that the views in default rows of bytes features point into
};

}  // namespace penstock
