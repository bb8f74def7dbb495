#include "core/example/map_entries.h"

#include <cstring>

namespace penstock {

bool read_unusual_entry(wire::Bytes bytes, MapEntry& entry, Joined& joined) {
  entry = {};
  std::vector<wire::Bytes> values;
  std::size_t total = 0;
  wire::Cursor cursor(bytes);
  while (!cursor.done()) {
    wire::Tag tag;
    wire::Bytes part;
    if (!cursor.read_tag(tag)) return false;
    if (tag.field == 1 && tag.type == wire::Type::kLength) {
      if (!cursor.read_bytes(entry.key)) return false;
    } else if (tag.field == 2 && tag.type == wire::Type::kLength) {
      if (!cursor.read_bytes(part)) return false;
      values.push_back(part);
      total += part.size;
    } else if (!cursor.skip(tag.type)) {
      return false;
    }
  }
  if (values.size() <= 1) {
    // Never a null pointer: an empty value points at the end of the entry.
    entry.value = values.empty() ? wire::Bytes{bytes.end(), 0} : values.front();
    if (entry.key.data == nullptr) entry.key = {bytes.end(), 0};
    return true;
  }
  auto buffer = std::make_shared<Buffer>(total == 0 ? 1 : total);
  std::byte* out = buffer->data();
  for (const wire::Bytes part : values) {
    if (part.size != 0) std::memcpy(out, part.data, part.size);
    out += part.size;
  }
  if (entry.key.data == nullptr) entry.key = {bytes.end(), 0};
  entry.value = {buffer->data(), total};
  entry.joined = true;
  joined = std::move(buffer);
  return true;
}

namespace {

enum class Seen : std::uint8_t { kNothing, kOther, kFeature };

// Calls `look` for the content of each field number 1 to `last` of a message, until it has seen a feature. All other
// fields, and bytes that are not fields, count as something else.
template <typename Look>
Seen look_at_fields(wire::Bytes message, std::uint32_t last, Look&& look) {
  Seen seen = Seen::kNothing;
  wire::Cursor cursor(message);
  while (!cursor.done()) {
    wire::Tag tag;
    wire::Bytes content;
    if (!cursor.read_tag(tag)) return Seen::kOther;
    if (tag.type != wire::Type::kLength || tag.field > last) {
      if (!cursor.skip(tag.type)) return Seen::kOther;
      seen = Seen::kOther;
      continue;
    }
    if (!cursor.read_bytes(content)) return Seen::kOther;
    const Seen inside = look(tag.field, content);
    if (inside == Seen::kFeature) return inside;
    if (inside == Seen::kOther) seen = inside;
  }
  return seen;
}

// An entry of a map of features or feature lists: serializers write the value even where it is empty.
Seen look_at_entry(wire::Bytes entry, std::uint32_t section) {
  const std::uint32_t kinds = section == 1 ? 3 : 1;
  const Seen seen = look_at_fields(entry, 2, [&](std::uint32_t field, wire::Bytes value) {
    if (field != 2) return Seen::kOther;
    if (value.size == 0) return Seen::kFeature;
    return look_at_fields(value, kinds, [](std::uint32_t, wire::Bytes) { return Seen::kFeature; });
  });
  return seen == Seen::kNothing ? Seen::kOther : seen;
}

}  // namespace

bool is_other_message(wire::Bytes message) {
  const Seen seen = look_at_fields(message, 2, [](std::uint32_t section, wire::Bytes map) {
    return look_at_fields(map, 1, [&](std::uint32_t, wire::Bytes entry) { return look_at_entry(entry, section); });
  });
  return seen == Seen::kOther;
}

}  // namespace penstock
