#include "tests/salvage_scan_check.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/crc32c/crc32c.h"
#include "core/crc32c/single_bit_error.h"
#include "core/little_endian.h"
#include "io/salvage_scan.h"
#include "tests/checks.h"
#include "tests/file_in_memory.h"

namespace penstock::tests {
namespace {

void check_frames_of(const std::string& file, const Stretch& stretch) {
  const auto bytes = std::as_bytes(std::span(file)).subspan(stretch.start, stretch.stop - stretch.start);
  std::vector<Span> spans;
  require(walk_frames(bytes, kLargestRecord, 0, false, spans).state == WalkState::kDone,
          "a recovered stretch is not made of frames");
  require(spans.size() == stretch.records, "records are miscounted");
  require(find_invalid(bytes.data(), spans, 0) == spans.size(), "a damaged record is recovered");
}

// True if checksums show that one record fills a stretch except for its header, or one bit of its payload.
bool is_one_record(std::span<const std::byte> stretch) {
  if (stretch.size() < kFrameOverhead) return false;
  const std::size_t size = stretch.size() - kFrameOverhead;
  const std::uint32_t crc = crc32c(stretch.data() + kHeaderBytes, size);
  const std::uint32_t stored = unmask_crc(load_le32(stretch.data() + kHeaderBytes + size));
  return crc == stored || (header_is_valid(stretch.data()) && is_single_bit_error(crc, stored, size));
}

// No whole frame is lost, unless it is inside a record's payload. One that consists of two headers may overlap another.
void check_lost(const std::string& file, const Stretch& lost) {
  const auto bytes = std::as_bytes(std::span(file));
  if (is_one_record(bytes.subspan(lost.start, lost.stop - lost.start))) return;
  for (std::uint64_t at = lost.start; at < lost.stop && file.size() - at >= kFrameOverhead; ++at) {
    const std::uint64_t length = load_le64(bytes.data() + at);
    if (!header_is_valid(bytes.data() + at) || length > file.size() - at - kFrameOverhead) continue;
    const bool is_two_headers = length + kFrameOverhead == 2 * kHeaderBytes && at + kHeaderBytes >= lost.stop;
    require(is_two_headers || !payload_is_valid(bytes.data(), {at + kHeaderBytes, length}), "a whole frame is lost");
  }
}

}  // namespace

void check_salvage_scan(const std::string& file, unsigned choice) {
  const FileInMemory stored(file);
  SalvageScanOptions options;
  options.stop = file.size();
  options.starts_at_record = choice & 1;
  options.ends_with_file = choice & 2;
  options.flat = choice & 4;
  options.by_length = choice & 8;
  const SalvageScan found = salvage_scan(stored.path(), options);
  std::uint64_t at = 0;
  bool was_doubtful = false;
  for (const Stretch& stretch : found.stretches) {
    // Of overlapping frames, all may be doubtful, or all but those that lead to a record.
    const bool overlaps = stretch.start < at && (stretch.kind == StretchKind::kDoubtful || was_doubtful);
    was_doubtful = stretch.kind == StretchKind::kDoubtful;
    require(stretch.start == at || overlaps, "the stretches do not cover the file");
    require(stretch.stop > stretch.start && stretch.stop <= file.size(), "a stretch is empty, or too long");
    at = std::max(at, stretch.stop);
    if (stretch.kind == StretchKind::kLost)
      check_lost(file, stretch);
    else
      check_frames_of(file, stretch);
  }
  require(at == file.size(), "the search ends before the file");
  require(found.work <= 64 * file.size() + (1 << 20), "the search takes too long");
}

}  // namespace penstock::tests
