// Finds what is at an offset of a damaged file: a whole frame, a damaged one, or none.
#pragma once

#include <cstdint>

#include "core/frame.h"
#include "io/file_region.h"

namespace penstock {

// For one thread.
class FrameProbe {
 public:
  // A frame as its header describes it.
  struct Frame {
    FaultKind fault = FaultKind::kNone;
    bool header_is_valid = false;
    bool fits = false;       // it ends within the region; a guess if the header is invalid
    std::uint64_t stop = 0;  // where it ends or would end, at most the region's end
    std::uint64_t need = 0;  // as in Fault

    bool is_whole() const { return fault == FaultKind::kNone; }
  };

  // A frame with an eight-byte payload is ambiguous: the payload and its checksum are also a header, of a frame as long
  // as the number in them. So a header that says 8, followed by the header of any record, is a frame whose payload is
  // that record's length.
  static constexpr std::uint64_t kAmbiguousBytes = 8;
  static constexpr std::uint64_t kAmbiguousFrame = kAmbiguousBytes + kFrameOverhead;

  // No record is longer than `limit`; `ends_with_file` is as in SalvageScanOptions.
  FrameProbe(FileRegion& region, std::uint64_t limit, bool ends_with_file)
      : region_(region), limit_(limit), ends_with_file_(ends_with_file) {}

  // Returns the frame at `at`. An ambiguous one is not whole if a whole, unambiguous frame starts at its payload, which
  // two checksums confirm.
  Frame probe(std::uint64_t at);

  // Counts the whole frames from the one at `at` on, each of which starts at the payload of the one before. All but
  // perhaps the last are ambiguous, and of two that overlap, at most one is a record.
  std::uint64_t count_overlapping(std::uint64_t at);

  // True if there is a valid header, or a payload that shows where its header was, or the end of the file.
  bool starts_record(std::uint64_t at);

  // True if the four bytes at `end` are the checksum of [begin, end): a record that has lost its header. Eight bytes
  // that are the length of a whole frame do not count.
  bool is_payload(std::uint64_t begin, std::uint64_t end);

  // Returns the first valid header at or after `from`, or the region's end.
  std::uint64_t find_valid_header(std::uint64_t from);

  // Returns the first whole frame that starts in [from, before), or the region's end.
  std::uint64_t find_whole(std::uint64_t from, std::uint64_t before);

 private:
  Frame guess(std::uint64_t at, const std::byte* header);
  bool has_checksum(std::uint64_t begin, std::uint64_t end);
  std::uint64_t length_at(std::uint64_t at);
  bool is_zero(std::uint64_t at);

  FileRegion& region_;
  const std::uint64_t limit_;
  const bool ends_with_file_;
};

}  // namespace penstock
