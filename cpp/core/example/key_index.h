// Finds the feature that a key names. Successive records have the same keys in the same order, so the key that stood at
// a position in the last record is tried first; any order still finds its feature.
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
  static constexpr int kNotAsked = -1;

  KeyIndex(const DecodePlan& plan, Section section) {
    for (std::size_t i = 0; i < plan.features.size(); ++i)
      if (plan.features[i].section == section) features_.emplace(plan.features[i].key, static_cast<int>(i));
  }

  // The feature of the entry at `position` of this section, or kNotAsked.
  int find(wire::Bytes key, std::size_t position) {
    if (position < expected_.size()) {
      const Expected& expected = expected_[position];
      if (expected.key.size() == key.size && std::memcmp(expected.key.data(), key.data, key.size) == 0)
        return expected.feature;
    }
    const std::string_view text(reinterpret_cast<const char*>(key.data), key.size);
    const auto found = features_.find(text);
    const int feature = found == features_.end() ? kNotAsked : found->second;
    if (position < expected_.size())
      expected_[position] = {std::string(text), feature};
    else if (position == expected_.size() && position < kMostExpected)
      expected_.push_back({std::string(text), feature});
    return feature;
  }

 private:
  // A hostile record may have millions of keys; remembering a few hundred is enough for any schema.
  static constexpr std::size_t kMostExpected = 4096;

  struct Expected {
    std::string key;
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
