#include "core/example/record_sort.h"

#include <string_view>

#include "core/frame.h"

namespace penstock {
namespace {

// Records of one sort have some hundreds of features at most.
constexpr std::size_t kMostKeys = 10'000;

// Calls visit(key) for each feature; false where the record is malformed, has none, or the visitor answers false.
template <typename Visit>
bool visit_keys(wire::Bytes record, Visit&& visit) {
  bool has_any = false;
  Joined joined;
  const bool is_whole = visit_entries(record, true, joined, [&](Section, const Entry& entry) {
    has_any = true;
    return visit(std::string_view(reinterpret_cast<const char*>(entry.key.data), entry.key.size));
  });
  return is_whole && has_any;
}

}  // namespace

bool RecordSort::learn(wire::Bytes record) {
  has_features_ = has_features_ && visit_keys(record, [&](std::string_view key) {
                    if (!keys_.contains(key)) keys_.emplace(key);
                    return keys_.size() <= kMostKeys;
                  });
  return find_header({record.data, record.size}, 0) == record.size;
}

bool RecordSort::fits(wire::Bytes record) const {
  return !has_features_ || visit_keys(record, [&](std::string_view key) { return keys_.contains(key); });
}

}  // namespace penstock
