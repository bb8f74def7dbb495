// Decides whether the records found in a damaged file are its own, or inside a payload that contains TFRecords.
//
// A chain is a sequence of whole frames, and of damaged ones whose checksums show that no bytes were lost or added.
// After a record that lost its header, the frames inside its payload form a chain like any other. What decides:
//
//  - A chain that starts at a known record start is the file's own.
//  - So is one that reaches the very end of the file: a frame inside a payload is followed by that payload's checksum.
//  - So is one that is longer than a record may be.
//  - Chains are linked if the frame between them is damaged but its header gives its end. That is not proof: bytes may
//    be missing, and by chance a frame inside the next payload may be at the expected offset. But if links lead from a
//    known start to the end of the file, all are the file's own: entering a payload and leaving it again would take two
//    such coincidences.
//
// All other chains are undecided. But the payload around a chain would be longer than the chain. If that would make it
// the only record with TFRecords inside, and far longer than all others, SalvageScanOptions::by_length accepts the
// chain as the file's own.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

struct Chain {
  enum class Origin : std::uint8_t {
    kStart,    // at a known record start
    kLinked,   // after a damaged frame whose header gives its end
    kFound,    // found by searching
    kClaimed,  // found by searching, within a payload that a valid header claims
  };

  Origin origin;
  std::uint64_t bytes = 0;
  bool reaches_end = false;  // of the file
};

// What is known about the file's own records.
struct KnownRecords {
  std::uint64_t count = 0;
  std::uint64_t longest = 0;     // frame, in bytes
  bool contain_records = false;  // one of them contains a whole frame
};

// Returns for each chain whether it is certainly the file's own; `limit` is the longest allowed payload.
std::vector<bool> find_own(const std::vector<Chain>& chains, std::uint64_t limit);

// Adds to `own` the chains that only a record unlike all known ones could contain. Excludes chains inside a payload
// that a valid header claims: such a record probably exists.
void add_likely_own(const std::vector<Chain>& chains, const KnownRecords& known, std::vector<bool>& own);

}  // namespace penstock
