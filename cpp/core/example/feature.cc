#include "core/example/feature.h"

namespace penstock {
namespace {

struct CheckValues {
  bool bytes(wire::Bytes) { return true; }
  bool floats(const std::byte*, std::size_t) { return true; }
  bool varint(std::int64_t) { return true; }
  bool varints(wire::Bytes run) {
    const std::byte* p = run.data;
    std::uint64_t value;
    while (p != run.end())
      if (!wire::read_varint(p, run.end(), value)) return false;
    return true;
  }
};

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
  ResolvedFeature ignored;
  return resolve_feature(feature, ignored);
}

bool validate_feature_list(wire::Bytes list) { return visit_steps(list, validate_feature); }

}  // namespace penstock
