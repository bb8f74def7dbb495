// The outside of an Example or SequenceExample: from the message to the entries of its maps.
//
//   Example         { Features features = 1; }
//   SequenceExample { Features context = 1; FeatureLists feature_lists = 2; }
//   Features        { map<string, Feature> feature = 1; }           entry: key = 1, value = 2
//   FeatureLists    { map<string, FeatureList> feature_list = 1; }  entry: key = 1, value = 2
//
// Both maps look alike on the wire, so one walk serves them. Entries come in wire order; a key may come again, and then
// its last entry counts.
#pragma once

#include <memory>
#include <vector>

#include "core/buffer.h"
#include "core/example/wire.h"

namespace penstock {

// Where a value that had to be put together is kept: an entry with two values is one value, the two concatenated. The
// next such entry takes its place, so that a record of many costs no more memory than one: who needs it longer shares
// it.
using Joined = SharedBuffer;

struct MapEntry {
  wire::Bytes key;
  wire::Bytes value;
  bool joined = false;    // the value lies in the joined buffer, not in the record
  bool is_short = false;  // written with lengths of one byte: 0a E  0a K key  12 V value
};

enum class Section : std::uint8_t { kContext = 1, kSequence = 2 };

// Reads any entry, however oddly it is written.
bool read_unusual_entry(wire::Bytes bytes, MapEntry& entry, Joined& joined);

// Reads a whole map field at the cursor where it is written as every serializer writes it, with lengths of one byte:
//   0a E  0a K key  12 V value    Answers false, and leaves the cursor alone, where it is anything else.
inline bool read_short_entry(wire::Cursor& cursor, MapEntry& entry) {
  const auto at = [](const std::byte* p) { return static_cast<std::size_t>(*p); };
  const std::byte* p = cursor.p;
  if (cursor.end - p < 6 || at(p) != 0x0A || at(p + 2) != 0x0A) return false;
  const std::size_t size = at(p + 1), key = at(p + 3);
  if (size >= 0x80 || size > static_cast<std::size_t>(cursor.end - p) - 2 || key + 4 > size) return false;
  const std::byte* value = p + 4 + key;
  // Four bytes of tags and lengths, the key, and the value: together they must fill the entry.
  if (at(value) != 0x12 || at(value + 1) + key + 4 != size) return false;
  entry = {{p + 4, key}, {value + 2, size - key - 4}, false, true};
  cursor.p = p + 2 + size;
  return true;
}

// Reads an entry: key, then value, as every serializer writes them; otherwise by the slow way.
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

// Whether a message is neither an Example nor a SequenceExample: it has fields, and none of them is a feature. protobuf
// skips fields that it does not know and takes such a message for an empty Example. Stops at the first feature, which
// in an Example is its first entry. An Example may hold no feature at all, or features that are unset.
bool is_other_message(wire::Bytes message);

// Calls visit(section, entry) for each entry; false when the message is malformed or the visitor stopped. A plain
// Example has no feature lists: its field 2 is unknown and skipped. Before each entry, skim(section, cursor) may take
// it from the cursor itself, and answers whether it did.
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
