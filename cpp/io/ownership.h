// Whose the records of a damaged file are: the file's own, or those of a payload that holds TFRecords.
//
// A chain is whole frames that follow each other, over damaged ones whose checksums show that no byte of them is
// missing or too many. Behind a record that lost its header, the frames inside its payload make a chain as good as any.
// What tells them apart:
//
//  - A chain that starts where a record is known to start is the file's own.
//  - So is one that reaches the very end of the file: behind a frame inside a payload stands that payload's checksum.
//  - So is one that is longer than a record may be.
//  - Chains are linked where the frame between them is damaged, but its header tells its end. That is no proof: bytes
//    may be missing from it, and by chance a frame inside the next payload stand where a record is due. But where
//    links lead from a known start to the end of the file, all are the file's own: to enter a payload and to leave it
//    again takes two such chances.
//
// Of all others nobody can know. What can be known is how likely it is: the payload around a chain is longer than the
// chain. Where that would make it the only record that holds TFRecords, and far longer than all others, a survey may be
// asked to take the chain for the file's own (SalvageScanOptions::by_length).
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

struct Chain {
  enum class Origin : std::uint8_t {
    kStart,    // a record is known to start where the chain does
    kLinked,   // the header of the damaged frame between the chain before and this one tells where it ends
    kFound,    // it was found by searching
    kClaimed,  // the same, where a header that checks itself claims a payload
  };

  Origin origin;
  std::uint64_t bytes = 0;
  bool reaches_end = false;  // of the file
};

// What is known of the file's own records.
struct KnownRecords {
  std::uint64_t count = 0;
  std::uint64_t longest = 0;  // frame
  bool hold_records = false;  // one of them holds a whole frame
};

// Of each chain, whether it is certainly the file's own; `limit` is the length of the longest payload.
std::vector<bool> find_own(const std::vector<Chain>& chains, std::uint64_t limit);

// Adds to `own` the chains that only a record unlike all that are known could hold. What a header claims that checks
// itself is not among them: there is such a record, it seems.
void add_likely_own(const std::vector<Chain>& chains, const KnownRecords& known, std::vector<bool>& own);

}  // namespace penstock
