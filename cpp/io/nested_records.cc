#include "io/nested_records.h"

namespace penstock {
namespace {

// This many records show what the records of a file are like.
constexpr std::uint64_t kManyRecords = 100;

// How many times longer a record must be to count as far longer.
constexpr std::uint64_t kFarLongerFactor = 16;

}  // namespace

std::vector<bool> find_own(const std::vector<Chain>& chains, std::uint64_t limit) {
  using Origin = Chain::Origin;
  std::vector<bool> own(chains.size());
  for (std::size_t first = 0, stop; first < chains.size(); first = stop) {
    // Linked chains are decided together. The first chain is never linked.
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
  if (known.count < kManyRecords || known.contain_records) return;
  bool is_claimed = false;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    if (chains[i].origin != Chain::Origin::kLinked) is_claimed = chains[i].origin == Chain::Origin::kClaimed;
    if (!is_claimed && chains[i].bytes / kFarLongerFactor >= known.longest) own[i] = true;
  }
}

}  // namespace penstock
