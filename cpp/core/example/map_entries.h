// Parses an Example or SequenceExample into the entries of its maps.
//
//   Example         { Features features = 1; }
//   SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
//   Features        { map<string, Feature> feature = 1; }           entry: key = 1, value = 2
//   FeatureLists    { map<string, FeatureList> feature_list = 1; }  entry: key = 1, value = 2
//
// Both maps have the same wire format, so one walk handles them. Entries come in wire order; of a repeated key, the
// last entry counts.
#pragma once

#include <memory>
#include <vector>

#include "core/buffer.h"
#include "core/example/wire.h"

namespace penstock {

// Holds a value that had to be concatenated: an entry with two values is one value. The next such entry replaces it, so
// that a record with many costs no more memory than one; share the buffer to keep it longer.
using Joined = SharedBuffer;

struct MapEntry {
  wire::Bytes key;
  wire::Bytes value;
  bool joined = false;    // the value lies in the joined buffer, not in the record
  bool is_short = false;  // encoded with one-byte lengths: 0a E  0a K key  12 V value
};

enum class Section : std::uint8_t { kContext = 1, kSequence = 2 };

// Reads an entry in any valid encoding.
bool read_unusual_entry(wire::Bytes bytes, MapEntry& entry, Joined& joined);

// Reads a whole map field at the cursor in the usual encoding, with one-byte lengths:
//   0a E  0a K key  12 V value    Returns false, and leaves the cursor alone, if it is anything else.
inline bool read_short_entry(wire::Cursor& cursor, MapEntry& entry) {
  const auto at = [](const std::byte* p) { return static_cast<std::size_t>(*p); };
  const std::byte* p = cursor.p;
  if (cursor.end - p < 6 || at(p) != 0x0A || at(p + 2) != 0x0A) return false;
  const std::size_t size = at(p + 1), key = at(p + 3);
  if (size >= 0x80 || size > static_cast<std::size_t>(cursor.end - p) - 2 || key + 4 > size) return false;
  const std::byte* value = p + 4 + key;
  // Four bytes of tags and lengths, the key and the value must fill the entry.
  if (at(value) != 0x12 || at(value + 1) + key + 4 != size) return false;
  entry = {{p + 4, key}, {value + 2, size - key - 4}, false, true};
  cursor.p = p + 2 + size;
  return true;
}

// Reads an entry: key, then value, as serializers write them; otherwise by the slow path.
inline bool read_entry(wire::Bytes bytes, MapEntry& entry, Joined& joined) {
  wire::Cursor cursor(bytes);
  if (bytes.size >= 4 && *cursor.p == std::byte{0x0A}) {
    ++cursor.p;
    if (cursor.read_bytes(entry.key) && !cursor.done() && *cursor.p == std::byte{0x12}) {
      ++cursor.p;
      if (cursor.read_bytes(entry.value) && cursor.done()) {
        entry.joined = false;
        return true;
      }
    }
  }
  return read_unusual_entry(bytes, entry, joined);
}

// Whether a message is neither an Example nor a SequenceExample: it has fields, but none is a feature. protobuf skips
// unknown fields and would parse such a message as an empty Example. Stops at the first feature, in an Example its
// first entry. An Example may have no features, or unset ones.
bool is_other_message(wire::Bytes message);

// Calls visit(section, entry) for each entry; false if the message is malformed or the visitor stopped. A plain Example
// has no feature lists: its field 2 is unknown and skipped. Before each entry, skim(section, cursor) may consume it
// itself, and returns whether it did.
template <typename Visit, typename Skim>
bool visit_entries(wire::Bytes message, bool sequence_example, Joined& joined, Visit&& visit, Skim&& skim) {
  wire::Cursor top(message);
  while (!top.done()) {
    wire::Tag tag;
    if (!top.read_tag(tag)) return false;
    const bool is_map = tag.type == wire::Type::kLength && (tag.field == 1 || (tag.field == 2 && sequence_example));
    if (!is_map) {
      if (!top.skip(tag.type)) return false;
      continue;
    }
    const auto section = static_cast<Section>(tag.field);
    wire::Bytes bytes;
    if (!top.read_bytes(bytes)) return false;
    wire::Cursor map(bytes);
    while (!map.done()) {
      if (skim(section, map)) continue;
      MapEntry entry;
      if (read_short_entry(map, entry)) {
        if (!visit(section, entry)) return false;
        continue;
      }
      if (!map.read_tag(tag)) return false;
      if (tag.field != 1 || tag.type != wire::Type::kLength) {
        if (!map.skip(tag.type)) return false;
        continue;
      }
      if (!map.read_bytes(bytes) || !read_entry(bytes, entry, joined) || !visit(section, entry)) return false;
    }
  }
  return true;
}

template <typename Visit>
bool visit_entries(wire::Bytes message, bool sequence_example, Joined& joined, Visit&& visit) {
  return visit_entries(message, sequence_example, joined, visit, [](Section, wire::Cursor&) { return false; });
}

}  // namespace penstock
