// What stood before a scalar in the last record, to be met again at the same place in the next one.
//
// Records of a table differ in their values alone: the tags, lengths and key before a float are the same bytes in every
// record, and so they are before an integer of as many bytes. Comparing them in one go reads such an entry in a few
// cycles; whatever differs is read by the general way, which also teaches what to expect next.
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

class ScalarHeads {
 public:
  // Reads the scalars at the cursor as long as they stand behind the heads that are expected from `position` on, into
  // row `row` of their columns; answers how many there were. claim(feature) answers the column of a feature, or nullptr
  // where it must not be written.
  template <typename Claim>
  std::size_t read(wire::Cursor& cursor, std::size_t position, std::size_t row, Claim&& claim) const {
    const Head* const first = heads_.data() + std::min(position, heads_.size());
    const Head* const last = heads_.data() + heads_.size();
    const Head* head = first;
    const std::byte* p = cursor.p;
    for (; head != last && static_cast<std::size_t>(cursor.end - p) >= head->reach; ++head) {
      const std::byte* value = p + head->size;
      const std::uint64_t number = load_le64(value);
      std::uint64_t differences = (number ^ head->more) & head->more_mask;
      for (std::size_t i = 0; i < kWords / 2; ++i) differences |= head->difference(p, i);
      if (head->size > kBytes / 2)
        for (std::size_t i = kWords / 2; i < kWords; ++i) differences |= head->difference(p, i);
      if (differences != 0) break;
      std::byte* column = claim(head->feature);
      if (column == nullptr) break;
      if (head->kind == Kind::kFloat)
        std::memcpy(column + 4 * row, value, 4);
      else
        store_le64(column + 8 * row, join_groups(number & head->value_mask));
      p = value + head->value_size;
    }
    cursor.p = p;
    return static_cast<std::size_t>(head - first);
  }

  // Learns from the entry at `position` of record number `record`, which was read by the general way, holds a scalar of
  // `feature` as serializers write it, and ends before `end`. A head is given up when it fails in two records, one
  // after the other: an integer of fewer bytes than most comes now and then.
  void learn(std::size_t position, const Entry& entry, const std::byte* end, std::size_t feature, Kind kind,
             std::uint64_t record) {
    // Before the key stand four bytes: 0a E 0a K. Before the value stand two and two: 12 V, and the tags of its lists.
    const std::byte* start = entry.key.data - 4;
    const auto size = static_cast<std::size_t>(entry.value.data + 4 - start);
    const std::size_t value_size = entry.value.size - 4;
    const std::size_t reach = std::max(size + 8, size > kBytes / 2 ? kBytes : kBytes / 2);
    if (position >= kMostPositions || size > kBytes || value_size > 8) return;
    if (static_cast<std::size_t>(end - start) < reach) return;
    if (position >= heads_.size()) heads_.resize(position + 1);
    Head& head = heads_[position];
    if (head.kind != Kind::kUnset && std::exchange(head.failed_in, record) + 1 != record) return;
    head = {};
    std::memcpy(head.bytes.data(), start, size);
    std::memset(head.mask.data(), 0xFF, size);
    head.value_mask = ~std::uint64_t{0} >> (64 - 8 * value_size);
    if (kind == Kind::kInt64) {
      head.more_mask = head.value_mask & kContinuationBits;
      head.more = head.more_mask & head.value_mask >> 8;
    }
    head.reach = static_cast<std::uint32_t>(reach);
    head.size = static_cast<std::uint32_t>(size);
    head.value_size = static_cast<std::uint32_t>(value_size);
    head.feature = static_cast<std::uint32_t>(feature);
    head.kind = kind;
  }

 private:
  static constexpr std::size_t kWords = 4, kBytes = 8 * kWords, kMostPositions = 4096;

  struct Head {
    std::uint64_t difference(const std::byte* p, std::size_t word) const {
      return (load_le64(p + 8 * word) ^ bytes[word]) & mask[word];
    }

    std::array<std::uint64_t, kWords> bytes{}, mask{};
    std::uint64_t value_mask = 0;           // the bytes of the value, of the eight behind the head
    std::uint64_t more = 0, more_mask = 0;  // the continuation bits among them
    std::uint32_t reach = kNever;           // bytes that are looked at
    std::uint32_t size = 0, value_size = 0, feature = 0;
    Kind kind = Kind::kUnset;  // nothing learned
    std::uint64_t failed_in = 0;
  };
  static constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

  std::vector<Head> heads_;
};

}  // namespace penstock
