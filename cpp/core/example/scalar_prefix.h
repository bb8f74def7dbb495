// The bytes before a scalar in the last record, expected at the same position in the next one.
//
// Records of a table differ only in their values: the tags, lengths and key before a float are the same in every
// record, as they are before integers with equally many bytes. Comparing them at once reads such an entry in a few
// cycles; any other is read by the general path, which also updates the expectation.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "core/example/map_entries.h"
#include "core/example/plan.h"
#include "core/example/varint.h"
#include "core/little_endian.h"

namespace penstock {

class ScalarPrefixes {
 public:
  // In place of a feature: the entry is only checked.
  static constexpr std::uint32_t kNotRequested = std::numeric_limits<std::uint32_t>::max();

  // Reads the scalars at the cursor for as long as they follow the prefixes expected from `position` on, into row `row`
  // of their columns; returns their number. claim(feature) returns the column of a feature, or nullptr if it must not
  // be written.
  template <typename Claim>
  std::size_t read(wire::Cursor& cursor, std::size_t position, std::size_t row, Claim&& claim) const {
    const Prefix* const first = prefixes_.data() + std::min(position, prefixes_.size());
    const Prefix* const last = prefixes_.data() + prefixes_.size();
    const Prefix* prefix = first;
    const std::byte* p = cursor.p;
    for (; prefix != last && static_cast<std::size_t>(cursor.end - p) >= prefix->reach; ++prefix) {
      const std::byte* value = p + prefix->size;
      const std::uint64_t number = load_le64(value);
      std::uint64_t differences = (number ^ prefix->more) & prefix->more_mask;
      for (std::size_t i = 0; i < kWords / 2; ++i) differences |= prefix->difference(p, i);
      if (prefix->size > kBytes / 2)
        for (std::size_t i = kWords / 2; i < kWords; ++i) differences |= prefix->difference(p, i);
      if (differences != 0) break;
      if (prefix->feature != kNotRequested) {
        std::byte* column = claim(prefix->feature);
        if (column == nullptr) break;
        if (prefix->kind == Kind::kFloat)
          std::memcpy(column + 4 * row, value, 4);
        else
          store_le64(column + 8 * row, join_groups(number & prefix->value_mask));
      }
      p = value + prefix->value_size;
    }
    cursor.p = p;
    return static_cast<std::size_t>(prefix - first);
  }

  // Learns from the entry at `position` of record number `record`, which the general path has read: a scalar of
  // `feature` in the usual encoding that ends before `end`. A prefix is replaced only if it fails in two consecutive
  // records, since an integer with fewer bytes than most is common.
  void learn(std::size_t position, const MapEntry& entry, const std::byte* end, std::size_t feature, Kind kind,
             std::uint64_t record) {
    // Four bytes precede the key: 0a E 0a K. Two and two precede the value: 12 V, and the tags of its lists.
    const std::byte* start = entry.key.data - 4;
    const auto size = static_cast<std::size_t>(entry.value.data + 4 - start);
    const std::size_t value_size = entry.value.size - 4;
    const std::size_t reach = std::max(size + 8, size > kBytes / 2 ? kBytes : kBytes / 2);
    if (position >= kMaxPositions || size > kBytes || value_size > 8) return;
    if (static_cast<std::size_t>(end - start) < reach) return;
    if (position >= prefixes_.size()) prefixes_.resize(position + 1);
    Prefix& prefix = prefixes_[position];
    if (prefix.kind != Kind::kUnset && std::exchange(prefix.failed_in, record) + 1 != record) return;
    prefix = {};
    std::memcpy(prefix.bytes.data(), start, size);
    std::memset(prefix.mask.data(), 0xFF, size);
    prefix.value_mask = ~std::uint64_t{0} >> (64 - 8 * value_size);
    if (kind == Kind::kInt64) {
      prefix.more_mask = prefix.value_mask & kContinuationBits;
      prefix.more = prefix.more_mask & prefix.value_mask >> 8;
    }
    prefix.reach = static_cast<std::uint32_t>(reach);
    prefix.size = static_cast<std::uint32_t>(size);
    prefix.value_size = static_cast<std::uint32_t>(value_size);
    prefix.feature = static_cast<std::uint32_t>(feature);
    prefix.kind = kind;
  }

 private:
  static constexpr std::size_t kWords = 4, kBytes = 8 * kWords, kMaxPositions = 4096;

  struct Prefix {
    std::uint64_t difference(const std::byte* p, std::size_t word) const {
      return (load_le64(p + 8 * word) ^ bytes[word]) & mask[word];
    }

    std::array<std::uint64_t, kWords> bytes{}, mask{};
    std::uint64_t value_mask = 0;           // the bytes of the value, among the eight after the prefix
    std::uint64_t more = 0, more_mask = 0;  // the continuation bits among them
    std::uint32_t reach = kNever;           // bytes that are read
    std::uint32_t size = 0, value_size = 0, feature = 0;
    Kind kind = Kind::kUnset;  // nothing learned
    std::uint64_t failed_in = 0;
  };
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  std::vector<Prefix> prefixes_;
};

}  // namespace penstock
