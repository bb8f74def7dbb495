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
inline bool holds(const ShardFile& file, const RecordPlace& place) {
  return file.size >= kFrameOverhead && place.length <= file.size - kFrameOverhead &&
         place.offset <= file.size - kFrameOverhead - place.length;
}

// Of a place that a file holds, or whose length is known to be small.
inline std::size_t frame_bytes(const RecordPlace& place) {
  return static_cast<std::size_t>(place.length) + kFrameOverhead;
}

// What is wrong with a frame of which so many bytes are there, and whose payload is to have `length`.
inline FetchFaultKind check_frame(const std::byte* frame, std::size_t there, std::uint64_t length, bool verify) {
  if (there < kHeaderBytes) return FetchFaultKind::kTruncatedRecord;
  if (!header_is_sound(frame)) return FetchFaultKind::kLengthChecksum;
  if (load_le64(frame) != length) return FetchFaultKind::kMoved;
  if (there < length + kFrameOverhead) return FetchFaultKind::kTruncatedRecord;
  if (verify && !payload_is_sound(frame, {kHeaderBytes, length})) return FetchFaultKind::kDataChecksum;
  return FetchFaultKind::kNone;
}

}  // namespace penstock
