#include <cstring>
#include <string>

#include "bindings/bindings.h"
#include "core/example/entries.h"
#include "core/example/feature.h"

namespace penstock::bindings {
namespace {

// Collects a list's values as Python objects.
struct ToList {
  nb::list values;
  bool bytes(wire::Bytes value) {
    values.append(nb::bytes(reinterpret_cast<const char*>(value.data), value.size));
    return true;
  }
  bool floats(const std::byte* data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      float value;
      std::memcpy(&value, data + 4 * i, 4);
      values.append(value);
    }
    return true;
  }
  bool varint(std::int64_t value) {
    values.append(value);
    return true;
  }
  bool varints(wire::Bytes run) {
    for (const std::byte* p = run.data; p != run.end();) {
      std::uint64_t value;
      if (!wire::read_varint(p, run.end(), value)) return false;
      values.append(static_cast<std::int64_t>(value));
    }
    return true;
  }
};

const char* name_of(Kind kind) {
  constexpr const char* names[] = {"unset", "bytes", "float", "int64"};
  return names[static_cast<std::size_t>(kind)];
}

bool append_feature(wire::Bytes feature, nb::list& out) {
  ResolvedFeature resolved;
  if (!resolve_feature(feature, resolved)) return false;
  ToList list;
  for (const wire::Bytes part : resolved.lists)
    if (!visit_list(resolved.kind, part, list)) return false;
  out.append(nb::make_tuple(name_of(resolved.kind), list.values));
  return true;
}

// None where the bytes are malformed; else {key: (kind, values)} and {key: [(kind, values), ...]}.
nb::object read_example(nb::handle data, bool sequence_example) {
  const BytesView view(data);
  Joined joined;
  // Every entry is checked, the last one of a key counts.
  nb::dict sections[3];
  const auto visit = [&](Section section, const Entry& entry) {
    nb::list steps;
    const bool good = section == Section::kContext
                          ? append_feature(entry.value, steps)
                          : visit_steps(entry.value, [&](wire::Bytes step) { return append_feature(step, steps); });
    if (!good) return false;
    const nb::bytes key(reinterpret_cast<const char*>(entry.key.data), entry.key.size);
    nb::dict& target = sections[static_cast<std::size_t>(section)];
    if (section == Section::kContext)
      target[key] = steps[0];
    else
      target[key] = steps;
    return true;
  };
  const wire::Bytes message{view.bytes().data(), view.bytes().size()};
  if (!visit_entries(message, sequence_example, joined, visit)) return nb::none();
  return nb::make_tuple(sections[1], sections[2]);
}

}  // namespace

void bind_inspecting(nb::module_& m) {
  m.def("read_example", &read_example, nb::arg("data"), nb::arg("sequence_example") = false,
        nb::sig("def read_example(data: object, sequence_example: bool = False) -> tuple[dict[bytes, "
                "tuple[str, list[typing.Any]]], dict[bytes, list[tuple[str, list[typing.Any]]]]] | None"),
        "Read a whole Example as protobuf does: (context, feature lists), or None where the bytes are malformed.");
}

}  // namespace penstock::bindings
