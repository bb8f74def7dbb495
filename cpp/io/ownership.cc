#include "io/ownership.h"

namespace penstock {
namespace {

// So many records tell what those of a file are like.
constexpr std::uint64_t kManyRecords = 100;

// A record is far longer than another one from so many times its length on.
constexpr std::uint64_t kFarLonger = 16;

}  // namespace

std::vector<bool> find_own(const std::vector<Chain>& chains, std::uint64_t limit) {
  using Origin = Chain::Origin;
  std::vector<bool> own(chains.size());
  for (std::size_t first = 0, stop; first < chains.size(); first = stop) {
    // Linked chains at once. The first of all is never linked.
    for (stop = first + 1; stop < chains.size() && chains[stop].origin == Origin::kLinked; ++stop) {
    }
    const bool starts_known = chains[first].origin == Origin::kStart;
    const bool ends_known = chains[stop - 1].reaches_end && chains[first].origin != Origin::kClaimed;
    for (std::size_t i = first; i < stop; ++i)
      own[i] = (starts_known && (ends_known || i == first)) || (ends_known && i == stop - 1) || chains[i].bytes > limit;
  }
  return own;
}

void add_likely_own(const std::vector<Chain>& chains, const KnownRecords& known, std::vector<bool>& own) {
  if (known.count < kManyRecords || known.hold_records) return;
  bool is_claimed = false;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    if (chains[i].origin != Chain::Origin::kLinked) is_claimed = chains[i].origin == Chain::Origin::kClaimed;
    if (!is_claimed && chains[i].bytes / kFarLonger >= known.longest) own[i] = true;
  }
}

}  // namespace penstock
