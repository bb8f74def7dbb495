// Whose the records of a damaged file are: the file's own, or those of a payload that holds TFRecords.
//
// A chain is whole frames that follow each other. Behind a record that lost its header, the frames inside its payload
// make a chain as good as any. What tells them apart:
//
//  - A chain that starts where a record is known to start is the file's own.
//  - So is one that reaches the very end of the file: behind a frame inside a payload stands that payload's checksum.
//  - So is one that is longer than a record may be.
//  - Chains are linked where the frame between them is damaged, but tells its end. So what follows a known start is the
//    file's own as well, unless the last of the linked chains ends in what could be the end of a payload: bytes may be
//    missing, and by chance a frame inside a payload stand where the next record is expected. From a known end, links
//    do not lead back, for the same reason: nothing else would speak for the chain before.
//  - Of all others nobody can know. But where links lead to a known end, or each chain up to one ends in what is
//    certainly damage, only a record that holds TFRecords and is damaged twice could have them in its payload.
#pragma once

#include <cstdint>
#include <vector>

namespace penstock {

struct Chain {
  enum class Ground : std::uint8_t {
    kStart,    // a record is known to start where the chain does
    kLinked,   // the damaged frame between the chain before and this one tells where it ends
    kFound,    // it was found by searching
    kClaimed,  // the same, where a header that checks itself claims a payload
  };

  Ground ground;
  std::uint64_t bytes = 0;
  bool ends_unexplained = false;  // what stands behind it may be the end of a payload as well as damage
  bool reaches_end = false;       // of the file
};

enum class Owner : std::uint8_t {
  kFile,
  kFileLikely,
  kUnknown,
};

// The owner of each chain; `limit` is the length of the longest payload.
std::vector<Owner> owners_of(const std::vector<Chain>& chains, std::uint64_t limit);

}  // namespace penstock
