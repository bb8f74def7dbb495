// What stood before a scalar in the last record, to be met again at the same place in the next one.
//
// Records of a table differ in their values alone: the tags, lengths and key before a float are the same bytes in every
// record, and so they are before an integer of as many bytes. Comparing them in one go reads such an entry in a few
// cycles; whatever differs is read by the general way, which also teaches what to expect next.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "core/bytes.h"
#include "core/example/entries.h"
#include "core/example/plan.h"
#include "core/example/varint.h"

namespace penstock {

class ScalarHeads {
 public:
  static constexpr int kNone = -1;

  // The feature whose scalar is next at the cursor, if it stands behind the expected head; kNone leaves the cursor
  // alone. `out` is asked for the feature's place and answers nullptr where it must not be written.
  template <typename Out>
  int read(wire::Cursor& cursor, std::size_t position, Out&& out) const {
    if (position >= heads_.size() || static_cast<std::size_t>(cursor.end - cursor.p) < kBytes + 8) return kNone;
    const Head& head = heads_[position];
    std::uint64_t differences = head.size == 0;
    for (std::size_t i = 0; i < kWords; ++i)
      differences |= (load_le64(cursor.p + 8 * i) ^ head.bytes[i]) & head.mask[i];
    if (differences != 0) return kNone;
    std::byte* target = out(head.feature);
    if (target == nullptr) return kNone;
    const std::byte* value = cursor.p + head.size;
    if (head.kind == Kind::kFloat) {
      std::memcpy(target, value, 4);
    } else {
      std::uint64_t number;
      const std::uint64_t word = load_le64(value) & (~std::uint64_t{0} >> (64 - 8 * head.value_size));
      if (!read_short_varint(word, head.value_size, number)) return kNone;
      store_le64(target, number);
    }
    cursor.p = value + head.value_size;
    return head.feature;
  }

  // Whether a scalar as far from the end of its record as this one is read by its head. The last ones are not, and
  // learning them would be for nothing.
  static bool reaches(const Entry& entry, const std::byte* end) {
    return static_cast<std::size_t>(end - (entry.key.data - 4)) >= kBytes + 8;
  }

  // Remembers the entry at `position`, which holds a scalar of `feature` as serializers write it.
  void learn(std::size_t position, const Entry& entry, int feature, Kind kind) {
    // Behind the head come at most eight bytes; before the key stand four: 0a E 0a K.
    const std::byte* start = entry.key.data - 4;
    const auto size = static_cast<std::size_t>(entry.value.data + 4 - start);
    const std::size_t value_size = entry.value.size - 4;
    if (position >= kMostPositions || size > kBytes || value_size > 8) return;
    if (position >= heads_.size()) heads_.resize(position + 1);
    Head head{{}, {}, static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(value_size), feature, kind};
    std::memcpy(head.bytes.data(), start, size);
    std::memset(head.mask.data(), 0xFF, size);
    heads_[position] = head;
  }

 private:
  static constexpr std::size_t kWords = 4, kBytes = 8 * kWords, kMostPositions = 4096;

  struct Head {
    std::array<std::uint64_t, kWords> bytes{}, mask{};
    std::uint32_t size = 0;  // 0: nothing learned
    std::uint32_t value_size = 0;
    int feature = kNone;
    Kind kind = Kind::kUnset;
  };

  std::vector<Head> heads_;
};

}  // namespace penstock
