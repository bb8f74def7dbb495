#include "core/example/entries.h"

#include <cstring>

namespace penstock {

bool read_odd_entry(wire::Bytes bytes, Entry& entry, Joined& joined) {
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
    // Never a null pointer: the cursor's end is a fine place for nothing.
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

}  // namespace penstock
