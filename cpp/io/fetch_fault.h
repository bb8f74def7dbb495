// What can be wrong with a record that is read where an index says it is.
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
  kLengthChecksum,   // the header does not check itself
  kDataChecksum,     // the payload does not match its checksum
  kTruncatedRecord,  // the file ends before the record does
  kMoved,            // a good header, of another length: the index is stale
  kUnread,           // the operating system did not read it; reading it alone tells why
};

struct FetchFault {
  std::size_t row = 0;  // of the job
  FetchFaultKind kind = FetchFaultKind::kNone;
};

// An index may be wrong: nothing is read, and no memory taken, for what the file cannot hold.
inline bool holds(const OpenFile& file, const RecordLocation& location) {
  return file.size >= kFrameOverhead && location.length <= file.size - kFrameOverhead &&
         location.offset <= file.size - kFrameOverhead - location.length;
}

// Of a place that a file holds, or whose length is known to be small.
inline std::size_t frame_bytes(const RecordLocation& location) {
  return static_cast<std::size_t>(location.length) + kFrameOverhead;
}

// What is wrong with a frame of which so many bytes are there, and whose payload is to have `length`.
inline FetchFaultKind check_frame(const std::byte* frame, std::size_t available, std::uint64_t length, bool verify) {
  if (available < kHeaderBytes) return FetchFaultKind::kTruncatedRecord;
  if (!header_is_valid(frame)) return FetchFaultKind::kLengthChecksum;
  if (load_le64(frame) != length) return FetchFaultKind::kMoved;
  if (available < length + kFrameOverhead) return FetchFaultKind::kTruncatedRecord;
  if (verify && !payload_is_valid(frame, {kHeaderBytes, length})) return FetchFaultKind::kDataChecksum;
  return FetchFaultKind::kNone;
}

}  // namespace penstock
