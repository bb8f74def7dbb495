#include "core/example/value_digest.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <string>

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
    if (left >= kLong) add_stripes(p, left);
    for (; left >= 8; left -= 8, p += 8) add(load_le64(p));
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < left; ++i) last |= static_cast<std::uint64_t>(p[i]) << (8 * i);
    if (left != 0) add(last);
  }

  Digest digest() const { return {mixed(low_ + high_ * kOdd3), mixed(high_ ^ std::rotl(low_, 17))}; }

 private:
  // Shorter values, and so most keys, go through both lanes word by word.
  static constexpr std::size_t kLong = 256;

  // Four words at a time, in lanes of their own, which a processor computes side by side.
  void add_stripes(const std::byte*& p, std::size_t& left) {
    std::uint64_t lanes[4] = {low_, high_, low_ ^ kOdd2, high_ ^ kOdd3};
    for (; left >= 32; left -= 32, p += 32)
      for (std::size_t i = 0; i < 4; ++i) lanes[i] = std::rotl(lanes[i] ^ (load_le64(p + 8 * i) * kOdd1), 29) * kOdd2;
    for (const std::uint64_t lane : lanes) add(lane);
  }

  std::uint64_t low_, high_;
};

// Hashes the values of a list, in whatever runs they come.
struct HashValues {
  Hash& hash;
  std::uint64_t count = 0;
  wire::Bytes run{};          // floats so far, if they are one run
  std::string runs_joined{};  // otherwise
  bool bytes(wire::Bytes value) {
    hash.add(value);
    ++count;
    return true;
  }
  bool floats(const std::byte* data, std::size_t size) {
    if (size == 0) return true;
    if (count != 0 && runs_joined.empty()) append(run);
    run = {data, 4 * size};
    if (count != 0) append(run);
    count += size;
    return true;
  }
  bool varint(std::int64_t value) {
    hash.add(static_cast<std::uint64_t>(value));
    ++count;
    return true;
  }
  bool varints(wire::Bytes packed) {
    for (const std::byte* p = packed.data; p != packed.end();) {
      std::uint64_t value;
      if (!wire::read_varint(p, packed.end(), value)) return false;
      varint(static_cast<std::int64_t>(value));
    }
    return true;
  }
  void append(wire::Bytes floats) { runs_joined.append(reinterpret_cast<const char*>(floats.data), floats.size); }
  void finish() {
    if (!runs_joined.empty()) run = {reinterpret_cast<const std::byte*>(runs_joined.data()), runs_joined.size()};
    if (run.size != 0) hash.add(run);
    hash.add(count);
  }
};

// Whether a feature is a list of one kind in one field, as serializers write it.
bool is_one_list(wire::Bytes feature, Kind& kind, wire::Bytes& list) {
  wire::Cursor cursor(feature);
  wire::Tag tag;
  if (cursor.done() || !cursor.read_tag(tag) || tag.field > 3 || tag.type != wire::Type::kLength) return false;
  kind = static_cast<Kind>(tag.field);
  return cursor.read_bytes(list) && cursor.done();
}

bool add_feature(wire::Bytes feature, Hash& hash, Kind& kind) {
  HashValues values{hash};
  wire::Bytes list;
  if (is_one_list(feature, kind, list)) {
    hash.add(static_cast<std::uint64_t>(kind));
    if (!visit_list(kind, list, values)) return false;
  } else {
    ResolvedFeature resolved;
    if (!resolve_feature(feature, resolved)) return false;
    kind = resolved.kind;
    hash.add(static_cast<std::uint64_t>(kind));
    for (const wire::Bytes part : resolved.lists)
      if (!visit_list(kind, part, values)) return false;
  }
  values.finish();
  return true;
}

}  // namespace

Digest digest_bytes(wire::Bytes bytes, std::uint64_t seed) {
  Hash hash(seed);
  hash.add(bytes);
  return hash.digest();
}

// Of each key, the last entry is left.
void ExampleDigester::sort_and_drop_repeated() {
  const auto out_of_order = [](const Entry& a, const Entry& b) { return !(a < b); };
  if (std::ranges::adjacent_find(entries_, out_of_order) == entries_.end()) return;
  std::ranges::stable_sort(entries_, std::less());
  std::size_t count = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (i + 1 == entries_.size() || entries_[i] < entries_[i + 1]) entries_[count++] = entries_[i];
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(count), entries_.end());
}

bool ExampleDigester::read_entries(wire::Bytes record) {
  std::size_t room = 64;  // a record can repeat a short key very often
  Joined joined;
  entries_.clear();
  return visit_entries(record, true, joined, [&](Section section, const MapEntry& entry) {
    Hash hash(seed_);
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
    if (entries_.size() == room) {
      sort_and_drop_repeated();
      room = std::max(room, 2 * entries_.size());
    }
    entries_.push_back({section, section == Section::kContext && kind == Kind::kUnset, entry.key, hash.digest()});
    return true;
  });
}

ExampleDigest ExampleDigester::digest(wire::Bytes record) {
  if (is_other_message(record) || !read_entries(record)) return {digest_bytes(record, seed_), {}};
  sort_and_drop_repeated();
  ExampleDigest found;
  Hash hash(~seed_);
  for (const Entry& entry : entries_) {
    if (entry.absent) continue;
    hash.add(static_cast<std::uint64_t>(entry.section));
    hash.add(entry.key);
    hash.add(entry.digest.low);
    hash.add(entry.digest.high);
    if (entry.section == Section::kContext && entry.name() == key_) found.key = entry.digest;
  }
  found.values = hash.digest();
  return found;
}

}  // namespace penstock
