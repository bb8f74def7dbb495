// Finds the feature of a key. Successive records usually have the same keys in the same order, so the key at this
// position in the last record is tried first.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/example/plan.h"

namespace penstock {

class KeyIndex {
 public:
  static constexpr int kNotRequested = -1;

  KeyIndex(const DecodePlan& plan, Section section) {
    for (std::size_t i = plan.features.size(); i-- > 0;)
      if (plan.features[i].section == section) features_.insert_or_assign(plan.features[i].key, static_cast<int>(i));
  }

  // Returns the first feature of the entry at `position` of this section, or kNotRequested.
  int find(wire::Bytes key, std::size_t position) {
    if (position < expected_.size()) {
      const Expected& expected = expected_[position];
      if (expected.key.size() == key.size && expected.start == first_bytes(key) &&
          (key.size <= 8 || std::memcmp(expected.key.data() + 8, key.data + 8, key.size - 8) == 0))
        return expected.feature;
    }
    return look_up(key, position);
  }

 private:
  // A hostile record may have millions of keys; this many are enough for any schema.
  static constexpr std::size_t kMaxExpected = 4096;

  // Up to eight bytes of a key as a number: one comparison distinguishes most keys.
  static std::uint64_t first_bytes(wire::Bytes key) {
    if (key.size >= 8) return load_le64(key.data);
    if (key.size >= 4) return load_le32(key.data) | std::uint64_t{load_le32(key.end() - 4)} << 32;
    if (key.size >= 2) return load_le16(key.data) | std::uint32_t{load_le16(key.end() - 2)} << 16;
    return key.size == 1 ? static_cast<std::uint64_t>(*key.data) : 0;
  }

  // The slow path, kept out of line so that the fast one is inlined. Remembers the key at this position.
  [[gnu::noinline]] int look_up(wire::Bytes key, std::size_t position) {
    const std::string_view text(reinterpret_cast<const char*>(key.data), key.size);
    const auto found = features_.find(text);
    const int feature = found == features_.end() ? kNotRequested : found->second;
    if (position < expected_.size())
      expected_[position] = {std::string(text), first_bytes(key), feature};
    else if (position == expected_.size() && position < kMaxExpected)
      expected_.push_back({std::string(text), first_bytes(key), feature});
    return feature;
  }

  struct Expected {
    std::string key;
    std::uint64_t start;
    int feature;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  std::unordered_map<std::string, int, Hash, std::equal_to<>> features_;
  std::vector<Expected> expected_;
};

}  // namespace penstock
