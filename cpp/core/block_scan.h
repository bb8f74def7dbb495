// Finds and verifies the frames of a block before it is known where its first frame starts.
//
// A thread that has read a block scans it from the first position that looks like a frame header.
// ChunkAssembler::add_scanned, which has processed all earlier blocks, decides whether the guess was right: if a frame
// starts there, the scan found exactly the frames of the block. Payloads that contain frames can make the guess wrong;
// the scan is then discarded.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/chunk.h"

namespace penstock {

struct BlockScanOptions {
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  bool verify = true;
  bool at_frame = false;  // the block is known to begin with a frame
  std::size_t expected_records = 0;
};

struct BlockScan {
  // Scanning ahead does not pay for records of this size and above: their headers are few and quick to find later.
  static constexpr std::size_t kLongRecord = std::size_t{4} << 10;
  // Unused entries at the start of `spans`: space for a record that began in the previous block.
  static constexpr std::size_t kSpareSpans = 1;

  std::size_t begin = 0;  // of the first frame, in the buffer
  std::size_t end = 0;    // of the last complete, valid frame
  std::shared_ptr<std::vector<Span>> spans;

  bool is_empty() const { return begin == end; }
};

// Scans bytes [begin, end) of `buffer`.
BlockScan scan_block(const std::byte* buffer, std::size_t begin, std::size_t end, const BlockScanOptions& options);

}  // namespace penstock
