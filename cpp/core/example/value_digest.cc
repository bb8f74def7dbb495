#include "core/example/value_digest.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/example/feature.h"
#include "core/example/map_entries.h"
#include "core/little_endian.h"

namespace penstock {
namespace {

constexpr std::uint64_t kOdd1 = 0x9E3779B97F4A7C15, kOdd2 = 0xC2B2AE3D27D4EB4F, kOdd3 = 0x165667B19E3779F9;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCD;
  x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53;
  return x ^ (x >> 33);
}

// Two lanes of 64 bits. Every step is a bijection of a lane, so that it loses nothing of what came before.
class Hash {
 public:
  explicit Hash(std::uint64_t seed) : low_(mixed(seed + kOdd1)), high_(mixed(seed ^ kOdd2)) {}

  void add(std::uint64_t word) {
    low_ = std::rotl(low_ ^ (word * kOdd1), 29) * kOdd2;
    high_ = (std::rotl(high_, 31) + (word ^ (word >> 32)) * kOdd3) * kOdd1;
  }

  void add(wire::Bytes bytes) {
    add(bytes.size);
    const std::byte* p = bytes.data;
    std::size_t left = bytes.size;
    for (; left >= 8; left -= 8, p += 8) add(load_le64(p));
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < left; ++i) last |= static_cast<std::uint64_t>(p[i]) << (8 * i);
    if (left != 0) add(last);
  }

  void add(const Digest& digest) {
    add(digest.low);
    add(digest.high);
  }

  Digest digest() const { return {mixed(low_ + high_ * kOdd3), mixed(high_ ^ std::rotl(low_, 17))}; }

 private:
  std::uint64_t low_, high_;
};

struct HashValues {
  Hash& hash;
  std::uint64_t count = 0;
  bool bytes(wire::Bytes value) {
    hash.add(value);
    ++count;
    return true;
  }
  bool floats(const std::byte* data, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, data + 4 * i, 4);
      hash.add(bits);
    }
    count += size;
    return true;
  }
  bool varint(std::int64_t value) {
    hash.add(static_cast<std::uint64_t>(value));
    ++count;
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

bool add_feature(wire::Bytes feature, Hash& hash, Kind& kind) {
  ResolvedFeature resolved;
  if (!resolve_feature(feature, resolved)) return false;
  kind = resolved.kind;
  hash.add(static_cast<std::uint64_t>(kind));
  HashValues values{hash};
  for (const wire::Bytes list : resolved.lists)
    if (!visit_list(kind, list, values)) return false;
  hash.add(values.count);
  return true;
}

struct Entry {
  Section section;
  wire::Bytes key;
  Digest digest;
  bool absent;

  std::string_view name() const { return {reinterpret_cast<const char*>(key.data), key.size}; }
};

bool comes_before(const Entry& a, const Entry& b) {
  return a.section != b.section ? a.section < b.section : a.name() < b.name();
}

// Sorts entries by their keys, and of each key leaves the last one.
void sort_and_drop_repeated(std::vector<Entry>& entries) {
  std::ranges::stable_sort(entries, comes_before);
  std::size_t count = 0;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (i + 1 == entries.size() || comes_before(entries[i], entries[i + 1])) entries[count++] = entries[i];
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(count), entries.end());
}

bool read_entries(wire::Bytes record, std::uint64_t seed, std::vector<Entry>& entries) {
  std::size_t room = 64;  // a record can repeat a short key very often
  Joined joined;
  return visit_entries(record, true, joined, [&](Section section, const MapEntry& entry) {
    Hash hash(seed);
    Kind kind = Kind::kUnset;
    if (section == Section::kContext) {
      if (!add_feature(entry.value, hash, kind)) return false;
    } else {
      std::uint64_t steps = 0;
      Kind ignored = Kind::kUnset;
      if (!visit_steps(entry.value, [&](wire::Bytes step) { return ++steps, add_feature(step, hash, ignored); }))
        return false;
      hash.add(steps);
    }
    if (entries.size() == room) {
      sort_and_drop_repeated(entries);
      room = std::max(room, 2 * entries.size());
    }
    entries.push_back({section, entry.key, hash.digest(), section == Section::kContext && kind == Kind::kUnset});
    return true;
  });
}

}  // namespace

Digest digest_bytes(wire::Bytes bytes, std::uint64_t seed) {
  Hash hash(seed);
  hash.add(bytes);
  return hash.digest();
}

ExampleDigest digest_example(wire::Bytes record, std::string_view key, std::uint64_t seed) {
  std::vector<Entry> entries;
  if (is_other_message(record) || !read_entries(record, seed, entries)) return {digest_bytes(record, seed), {}};
  sort_and_drop_repeated(entries);
  ExampleDigest found;
  Hash hash(~seed);
  for (const Entry& entry : entries) {
    if (entry.absent) continue;
    hash.add(static_cast<std::uint64_t>(entry.section));
    hash.add(entry.key);
    hash.add(entry.digest);
    if (entry.section == Section::kContext && entry.name() == key) found.key = entry.digest;
  }
  found.values = hash.digest();
  return found;
}

}  // namespace penstock
