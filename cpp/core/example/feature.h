// Parses a tf.train.Feature: which list it has, and the values of that list.
//
//   Feature { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2; Int64List int64_list = 3; } }
//
// Merges as protobuf does: a kind that is set again is concatenated, another kind replaces it. Lists may be packed,
// unpacked or both.
#pragma once

#include <vector>

#include "core/example/wire.h"

namespace penstock {

enum class Kind : std::uint8_t { kUnset = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };

// A Feature's kind, and the list messages whose concatenation is its list.
struct ResolvedFeature {
  Kind kind = Kind::kUnset;
  std::vector<wire::Bytes> lists;
};

// Calls visitor.bytes(Bytes), visitor.floats(data, count), visitor.varint(value) or visitor.varints(Bytes run) for the
// content of a list, in order. Each returns true to continue. Returns false if the list is malformed or the visitor
// stopped.
template <typename Visitor>
bool visit_list(Kind kind, wire::Bytes list, Visitor& visitor) {
  wire::Cursor cursor(list);
  while (!cursor.done()) {
    wire::Tag tag;
    if (!cursor.read_tag(tag)) return false;
    wire::Bytes bytes;
    if (tag.field != 1) {
      if (!cursor.skip(tag.type)) return false;
    } else if (kind == Kind::kBytes && tag.type == wire::Type::kLength) {
      if (!cursor.read_bytes(bytes) || !visitor.bytes(bytes)) return false;
    } else if (kind == Kind::kFloat && tag.type == wire::Type::kLength) {
      if (!cursor.read_bytes(bytes) || bytes.size % 4 != 0 || !visitor.floats(bytes.data, bytes.size / 4)) return false;
    } else if (kind == Kind::kFloat && tag.type == wire::Type::kFixed32) {
      const std::byte* data = cursor.p;
      if (!cursor.advance(4) || !visitor.floats(data, 1)) return false;
    } else if (kind == Kind::kInt64 && tag.type == wire::Type::kLength) {
      if (!cursor.read_bytes(bytes) || !visitor.varints(bytes)) return false;
    } else if (kind == Kind::kInt64 && tag.type == wire::Type::kVarint) {
      std::uint64_t value;
      if (!wire::read_varint(cursor.p, cursor.end, value) || !visitor.varint(static_cast<std::int64_t>(value)))
        return false;
    } else if (!cursor.skip(tag.type)) {
      return false;
    }
  }
  return true;
}

// Parses a whole Feature and checks every list in it; false if it is malformed.
bool resolve_feature(wire::Bytes feature, ResolvedFeature& resolved);

// Whether a Feature (or FeatureList) is well-formed.
bool validate_feature(wire::Bytes feature);
bool validate_feature_list(wire::Bytes list);

// Calls visit(step) for each Feature of a FeatureList; false if the list is malformed or the visitor stopped.
template <typename Visit>
bool visit_steps(wire::Bytes list, Visit&& visit) {
  wire::Cursor cursor(list);
  while (!cursor.done()) {
    wire::Tag tag;
    wire::Bytes step;
    if (!cursor.read_tag(tag)) return false;
    if (tag.field == 1 && tag.type == wire::Type::kLength) {
      if (!cursor.read_bytes(step) || !visit(step)) return false;
    } else if (!cursor.skip(tag.type)) {
      return false;
    }
  }
  return true;
}

}  // namespace penstock
