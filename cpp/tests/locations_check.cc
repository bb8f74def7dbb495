#include "tests/locations_check.h"

#include <cstring>
#include <vector>

#include "core/crc32c/crc32c.h"
#include "core/example/feature.h"
#include "core/example/map_entries.h"
#include "core/example/value_locations.h"
#include "tests/checks.h"
#include "tests/memory.h"
#include "tests/odd_messages.h"

namespace penstock::tests {
namespace {

// The bytes of a list of one feature, one value after another, by reading the whole record.
struct Joining {
  std::string bytes_joined;
  std::uint64_t values = 0;
  bool bytes(wire::Bytes value) {
    if (value.size != 0) bytes_joined.append(reinterpret_cast<const char*>(value.data), value.size);
    ++values;
    return true;
  }
  bool floats(const std::byte* data, std::size_t count) {
    if (count != 0) bytes_joined.append(reinterpret_cast<const char*>(data), 4 * count);
    values += count;
    return true;
  }
  bool varint(std::int64_t) { return true; }
  bool varints(wire::Bytes) { return true; }
};

Joining read_whole(wire::Bytes record, const LocatedFeature& feature) {
  Joined joined;
  Joining found;
  const bool good = visit_entries(record, false, joined, [&](Section, const MapEntry& entry) {
    if (std::string(reinterpret_cast<const char*>(entry.key.data), entry.key.size) != feature.key) return true;
    found = {};
    ResolvedFeature resolved;
    if (!resolve_feature(entry.value, resolved)) return false;
    for (const wire::Bytes list : resolved.lists) require(visit_list(resolved.kind, list, found), "a list changed");
    return true;
  });
  require(good, "values were found in a malformed record");
  return found;
}

}  // namespace

void check_locations(const std::string& record, bool guarded) {
  std::vector<LocatedFeature> features;
  for (const char* key : kKeys) features.push_back({key, 0});
  for (const char* key : kKeys) features.push_back({key, 4});
  const SharedBuffer buffer = place_input(std::as_bytes(std::span(record)), guarded);
  auto spans = std::make_shared<std::vector<Span>>(2, Span{0, record.size()});
  const Chunk chunk{buffer, std::move(spans), 0, 2, 0, static_cast<std::int64_t>(kHeaderBytes), nullptr};
  for (const LocatedFeature& feature : features) {
    std::vector<ValueLocations> all(1);
    if (const auto fault = locate_values(chunk, {feature}, all)) {
      require(fault->record == 0 && fault->feature <= 1, "a fault is elsewhere");
      continue;
    }
    const ValueLocations& found = all[0];
    require(found.counts.size() == 2 && found.counts[0] == found.counts[1], "equal records have other values");
    const std::size_t count = static_cast<std::size_t>(found.counts[0]);
    require(
        found.offsets.size() == 2 * count && found.lengths.size() == 2 * count && found.checksums.size() == 2 * count,
        "values are miscounted");
    const Joining expected = read_whole({buffer->data(), record.size()}, feature);
    std::string bytes_joined;
    for (std::size_t i = 0; i < count; ++i) {
      require(found.offsets[i] >= kHeaderBytes, "a value lies before the record");
      const std::uint64_t at = found.offsets[i] - kHeaderBytes;
      require(at <= record.size() && found.lengths[i] <= record.size() - at, "a value lies after the record");
      const std::byte* data = buffer->data() + at;
      require(crc32c(data, static_cast<std::size_t>(found.lengths[i])) == found.checksums[i], "a checksum is wrong");
      bytes_joined.append(record, static_cast<std::size_t>(at), static_cast<std::size_t>(found.lengths[i]));
    }
    require(count == expected.values && bytes_joined == expected.bytes_joined, "other values are found");
  }
}

}  // namespace penstock::tests
