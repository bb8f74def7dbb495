#include <cstring>
#include <string>

#include "bindings/bindings.h"
#include "core/example/feature.h"
#include "core/example/map_entries.h"

namespace penstock::bindings {
namespace {

constexpr std::size_t kAll = static_cast<std::size_t>(-1);

// Collects a list's values as Python objects; of numbers, only the first ones, and their total.
struct ToList {
  std::size_t max_numbers;
  nb::list values;
  std::size_t count = 0;
  bool bytes(wire::Bytes value) {
    values.append(nb::bytes(reinterpret_cast<const char*>(value.data), value.size));
    ++count;
    return true;
  }
  bool floats(const std::byte* data, std::size_t size) {
    for (std::size_t i = 0; i < size && count + i < max_numbers; ++i) {
      float value;
      std::memcpy(&value, data + 4 * i, 4);
      values.append(value);
    }
    count += size;
    return true;
  }
  bool varint(std::int64_t value) {
    if (count++ < max_numbers) values.append(value);
    return true;
  }
  bool varints(wire::Bytes run) {
    for (const std::byte* p = run.data; p != run.end();) {
      std::uint64_t value;
      if (!wire::read_varint(p, run.end(), value)) return false;
      varint(static_cast<std::int64_t>(value));
    }
    return true;
  }
};

const char* name_of(Kind kind) {
  constexpr const char* names[] = {"unset", "bytes", "float", "int64"};
  return names[static_cast<std::size_t>(kind)];
}

bool append_feature(wire::Bytes feature, std::size_t max_numbers, nb::list& out) {
  ResolvedFeature resolved;
  if (!resolve_feature(feature, resolved)) return false;
  ToList list{max_numbers, {}};
  for (const wire::Bytes part : resolved.lists)
    if (!visit_list(resolved.kind, part, list)) return false;
  if (max_numbers == kAll)
    out.append(nb::make_tuple(name_of(resolved.kind), list.values));
  else
    out.append(nb::make_tuple(name_of(resolved.kind), list.values, list.count));
  return true;
}

// Returns None if the bytes are malformed, else {key: (kind, values)} and {key: [(kind, values), ...]}. If not all
// numbers are requested, the number of values comes after them.
nb::object read_entries(nb::handle data, bool sequence_example, std::size_t max_numbers) {
  const BytesView view(data);
  Joined joined;
  // Every entry is checked; the last one of a key counts.
  nb::dict sections[3];
  const auto visit = [&](Section section, const MapEntry& entry) {
    nb::list steps;
    const auto append = [&](wire::Bytes feature) { return append_feature(feature, max_numbers, steps); };
    const bool good = section == Section::kContext ? append(entry.value) : visit_steps(entry.value, append);
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

void bind_peek_example(nb::module_& m) {
  m.def(
      "read_example", [](nb::handle data, bool sequence_example) { return read_entries(data, sequence_example, kAll); },
      nb::arg("data"), nb::arg("sequence_example") = false,
      nb::sig("def read_example(data: object, sequence_example: bool = False) -> tuple[dict[bytes, "
              "tuple[str, list[typing.Any]]], dict[bytes, list[tuple[str, list[typing.Any]]]]] | None"),
      "Read a whole Example as protobuf does: (context, feature lists), or None if the bytes are malformed.");
  m.def(
      "is_other_message",
      [](nb::handle data) {
        const BytesView view(data);
        return is_other_message({view.bytes().data(), view.bytes().size()});
      },
      nb::arg("data"), nb::sig("def is_other_message(data: object) -> bool"),
      "Return whether a message has fields, but no feature of an Example or SequenceExample.");
  m.def(
      "sketch_example", [](nb::handle data, std::size_t max_numbers) { return read_entries(data, true, max_numbers); },
      nb::arg("data"), nb::arg("max_numbers"),
      nb::sig("def sketch_example(data: object, max_numbers: int) -> tuple[dict[bytes, tuple[str, list[typing.Any], "
              "int]], dict[bytes, list[tuple[str, list[typing.Any], int]]]] | None"),
      "Read a SequenceExample with only the first numbers of each list: kind, values and their total.");
}

}  // namespace penstock::bindings
