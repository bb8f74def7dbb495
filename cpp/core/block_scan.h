// The frames of a block, found and verified before it is known where the first of them starts.
//
// A thread that has read a block walks it from the first place that looks like a frame. Whether that place was right is
// told by who has walked the blocks before (ChunkAssembler::add_scanned): if a frame starts there, all that follows is
// what a walk from there finds. If not, which payloads that hold frames themselves can bring about, it was in vain.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/chunk.h"

namespace penstock {

struct BlockScanOptions {
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  bool verify = true;
  bool at_frame = false;   // a frame is known to start where the block does
  std::size_t likely = 0;  // number of records
};

struct BlockScan {
  // Records of this size and more are not worth it: headers are few, and found quickly when their turn comes.
  static constexpr std::size_t kLongRecord = std::size_t{4} << 10;
  // Places before the first record in `spans`: for one that started in the block before.
  static constexpr std::size_t kFree = 1;

  std::size_t begin = 0;  // of the first frame in the buffer
  std::size_t end = 0;    // of the last one that is whole and sound
  std::shared_ptr<std::vector<Span>> spans;

  bool is_empty() const { return begin == end; }
};

// Walks bytes [begin, end) of a buffer.
BlockScan scan_block(const std::byte* buffer, std::size_t begin, std::size_t end, const BlockScanOptions& options);

}  // namespace penstock
