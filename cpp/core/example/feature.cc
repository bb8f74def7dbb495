#include "core/example/feature.h"

#include "core/little_endian.h"

namespace penstock {
namespace {

// Whether the bytes are varints of at most seven bytes, as most integers are; if not, they may still be varints.
bool are_short_varints(wire::Bytes run) {
  constexpr std::uint64_t kFour = 0x80808080;
  const std::byte* p = run.data;
  bool any_long = false;
  for (; run.end() - p >= 8; p += 8) {
    const std::uint64_t more = load_le64(p) & (kFour | kFour << 32);
    // More than six bytes in a row that continue would fill one of these halves.
    any_long |= (more & kFour) == kFour || more >> 32 == kFour;
  }
  if (any_long) return false;
  for (std::size_t in_a_row = p == run.data ? 0 : 3; p != run.end(); ++p) {  // at most three before
    in_a_row = (*p & std::byte{0x80}) == std::byte{} ? 0 : in_a_row + 1;
    if (in_a_row > 6) return false;
  }
  return run.size == 0 || (run.end()[-1] & std::byte{0x80}) == std::byte{};
}

struct CheckValues {
  bool bytes(wire::Bytes) { return true; }
  bool floats(const std::byte*, std::size_t) { return true; }
  bool varint(std::int64_t) { return true; }
  bool varints(wire::Bytes run) {
    if (are_short_varints(run)) return true;
    const std::byte* p = run.data;
    std::uint64_t value;
    while (p != run.end())
      if (!wire::read_varint(p, run.end(), value)) return false;
    return true;
  }
};

// Checks a feature in the usual encoding, a list of one kind in one field; false if it is another, or malformed.
bool is_usual_feature(wire::Bytes feature) {
  wire::Cursor cursor(feature);
  wire::Tag tag;
  wire::Bytes list;
  if (!cursor.read_tag(tag) || tag.field == 0 || tag.field > 3 || tag.type != wire::Type::kLength) return false;
  if (!cursor.read_bytes(list) || !cursor.done()) return false;
  CheckValues check;
  return visit_list(static_cast<Kind>(tag.field), list, check);
}

}  // namespace

bool resolve_feature(wire::Bytes feature, ResolvedFeature& resolved) {
  resolved.kind = Kind::kUnset;
  resolved.lists.clear();
  CheckValues check;
  wire::Cursor cursor(feature);
  while (!cursor.done()) {
    wire::Tag tag;
    if (!cursor.read_tag(tag)) return false;
    if (tag.field > 3 || tag.type != wire::Type::kLength) {
      if (!cursor.skip(tag.type)) return false;
      continue;
    }
    const auto kind = static_cast<Kind>(tag.field);
    wire::Bytes list;
    if (!cursor.read_bytes(list) || !visit_list(kind, list, check)) return false;
    if (kind != resolved.kind) resolved.lists.clear();
    resolved.kind = kind;
    resolved.lists.push_back(list);
  }
  return true;
}

bool validate_feature(wire::Bytes feature) {
  if (is_usual_feature(feature)) return true;
  ResolvedFeature ignored;
  return resolve_feature(feature, ignored);
}

bool validate_feature_list(wire::Bytes list) { return visit_steps(list, validate_feature); }

}  // namespace penstock
