// Faults of records that are read at the locations given by an index.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/frame.h"
#include "core/little_endian.h"
#include "io/open_files.h"
#include "io/record_locations.h"

namespace penstock {

enum class FetchFaultKind : std::uint8_t {
  kNone,
  kLengthChecksum,   // the header does not match its checksum
  kDataChecksum,     // the payload does not match its checksum
  kTruncatedRecord,  // the file ends before the record does
  kMoved,            // a valid header with another length: the index is stale
  kUnread,           // the operating system failed; reading it alone shows why
};

struct FetchFault {
  std::size_t row = 0;  // within the job
  FetchFaultKind kind = FetchFaultKind::kNone;
};

// An index may be wrong: nothing is read or allocated for a record that the file cannot contain.
inline bool fits_in_file(const OpenFile& file, const RecordLocation& location) {
  return file.size >= kFrameOverhead && location.length <= file.size - kFrameOverhead &&
         location.offset <= file.size - kFrameOverhead - location.length;
}

// For a location that the file contains, or a length known to be small.
inline std::size_t frame_bytes(const RecordLocation& location) {
  return static_cast<std::size_t>(location.length) + kFrameOverhead;
}

// Checks a frame of which `available` bytes were read, and whose payload should have `length`.
inline FetchFaultKind check_frame(const std::byte* frame, std::size_t available, std::uint64_t length, bool verify) {
  if (available < kHeaderBytes) return FetchFaultKind::kTruncatedRecord;
  if (!header_is_valid(frame)) return FetchFaultKind::kLengthChecksum;
  if (load_le64(frame) != length) return FetchFaultKind::kMoved;
  if (available < length + kFrameOverhead) return FetchFaultKind::kTruncatedRecord;
  if (verify && !payload_is_valid(frame, {kHeaderBytes, length})) return FetchFaultKind::kDataChecksum;
  return FetchFaultKind::kNone;
}

}  // namespace penstock
