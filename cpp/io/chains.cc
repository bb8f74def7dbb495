#include "io/chains.h"

#include <algorithm>

namespace penstock {

std::vector<Owner> owners_of(const std::vector<Chain>& chains, std::uint64_t limit) {
  using Ground = Chain::Ground;
  std::vector<Owner> owners(chains.size(), Owner::kFile);
  bool unexplained = false;  // among the chains from here up to the next that is the file's own
  for (std::size_t stop = chains.size(), first; stop > 0; stop = first) {
    // From the end, linked chains at once: what follows tells more than what comes before. The first is never linked.
    for (first = stop - 1; chains[first].ground == Ground::kLinked; --first) {
    }
    const Ground ground = chains[first].ground;
    const Chain& last = chains[stop - 1];
    unexplained = unexplained || last.ends_unexplained;
    for (std::size_t i = stop; i-- > first;) {
      const bool starts_known = ground == Ground::kStart && (i == first || !last.ends_unexplained);
      const bool ends_known = chains[i].reaches_end && chains[i].ground != Ground::kClaimed;
      if (starts_known || ends_known || chains[i].bytes > limit)
        unexplained = false;
      else
        owners[i] = ground == Ground::kClaimed || (unexplained && ground != Ground::kStart) ? Owner::kUnknown
                                                                                            : Owner::kFileLikely;
    }
  }
  return owners;
}

}  // namespace penstock
