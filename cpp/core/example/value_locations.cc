#include "core/example/value_locations.h"

#include <cstring>

#include "core/crc32c/crc32c.h"
#include "core/example/feature.h"
#include "core/example/map_entries.h"

namespace penstock {
namespace {

// Appends the values of one list.
class Locate {
 public:
  Locate(const std::byte* record, std::uint64_t offset, std::size_t float_bytes, ValueLocations& found)
      : record_(record), offset_(offset), float_bytes_(float_bytes), found_(found) {}

  bool bytes(wire::Bytes value) {
    append(value.data, value.size);
    return true;
  }
  bool floats(const std::byte* data, std::size_t count) {
    const std::size_t size = 4 * count;
    divided_ = size % float_bytes_ == 0;
    for (std::size_t at = 0; divided_ && at < size; at += float_bytes_) append(data + at, float_bytes_);
    return divided_;
  }
  bool varint(std::int64_t) { return false; }
  bool varints(wire::Bytes) { return false; }

  std::uint64_t count() const { return count_; }
  bool divided() const { return divided_; }

 private:
  void append(const std::byte* data, std::size_t size) {
    found_.offsets.push_back(offset_ + static_cast<std::uint64_t>(data - record_));
    found_.lengths.push_back(size);
    found_.checksums.push_back(crc32c(data, size));
    ++count_;
  }

  const std::byte* record_;
  std::uint64_t offset_;
  std::size_t float_bytes_;
  ValueLocations& found_;
  std::uint64_t count_ = 0;
  bool divided_ = true;
};

std::optional<LocateFaultKind> locate_in_feature(const std::byte* record, std::uint64_t offset, const MapEntry& entry,
                                                 std::size_t float_bytes, ValueLocations& found) {
  ResolvedFeature resolved;
  if (entry.value.data != nullptr && !resolve_feature(entry.value, resolved)) return LocateFaultKind::kMalformed;
  if (resolved.kind == Kind::kUnset) {
    found.counts.push_back(0);
    return std::nullopt;
  }
  if (resolved.kind != (float_bytes == 0 ? Kind::kBytes : Kind::kFloat)) return LocateFaultKind::kWrongKind;
  if (entry.joined) return LocateFaultKind::kScattered;
  Locate locate(record, offset, float_bytes, found);
  for (const wire::Bytes list : resolved.lists) {
    if (!visit_list(resolved.kind, list, locate))
      return locate.divided() ? LocateFaultKind::kMalformed : LocateFaultKind::kNotDivided;
  }
  found.counts.push_back(locate.count());
  return std::nullopt;
}

}  // namespace

std::optional<LocateFault> locate_values(const Chunk& chunk, const std::vector<LocatedFeature>& features,
                                         std::vector<ValueLocations>& found) {
  std::vector<MapEntry> entries;
  // A joined value does not lie in the record: it is reported, and all that is needed of it is its kind.
  std::vector<Joined> kept(features.size());
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    const Span span = chunk.span(i);
    const std::byte* record = chunk.buffer->data() + span.offset;
    entries.assign(features.size(), {});
    Joined joined;
    const bool good = visit_entries({record, span.length}, false, joined, [&](Section, const MapEntry& entry) {
      for (std::size_t f = 0; f < features.size(); ++f) {
        const std::string& key = features[f].key;
        if (entry.key.size != key.size() || std::memcmp(entry.key.data, key.data(), key.size()) != 0) continue;
        // Every entry is checked, though only the last one of a key counts.
        if (entries[f].value.data != nullptr && !validate_feature(entries[f].value)) return false;
        entries[f] = entry;
        kept[f] = entry.joined ? joined : nullptr;
      }
      return true;
    });
    if (!good) return LocateFault{LocateFaultKind::kMalformed, i, features.size()};
    for (std::size_t f = 0; f < features.size(); ++f) {
      const auto fault = locate_in_feature(record, chunk.frame_offset(i) + kHeaderBytes, entries[f],
                                           features[f].float_bytes, found[f]);
      if (fault) return LocateFault{*fault, i, f};
    }
  }
  return std::nullopt;
}

}  // namespace penstock
