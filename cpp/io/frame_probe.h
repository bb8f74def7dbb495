// What stands at a place of a damaged file: a frame that is whole, one that is damaged, or none.
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
    bool fits = false;       // it ends inside the region; without a sound header, perhaps
    std::uint64_t stop = 0;  // where it ends, or would end, but not beyond the region
    std::uint64_t need = 0;  // as in Fault

    bool is_whole() const { return fault == FaultKind::kNone; }
  };

  // A frame whose payload is eight bytes is ambiguous: these and their checksum are a header, too, of a frame as long
  // as the number in them. So a header that says 8 and the header of any record behind it are a frame whose payload is
  // that record's length.
  static constexpr std::uint64_t kAmbiguousBytes = 8;
  static constexpr std::uint64_t kAmbiguousFrame = kAmbiguousBytes + kFrameOverhead;

  // No record is longer than `limit`; `ends_with_file` as in SalvageScanOptions.
  FrameProbe(FileRegion& region, std::uint64_t limit, bool ends_with_file)
      : region_(region), limit_(limit), ends_with_file_(ends_with_file) {}

  // The frame at `at`. An ambiguous one is not whole where one that is, and is not ambiguous, starts at its payload:
  // two checksums tell of that one alone.
  Frame probe(std::uint64_t at);

  // How many whole frames there are from a whole one at `at` on, each of which starts at the payload of the one before.
  // All but perhaps the last are ambiguous, and of each two that overlap, at most one is a record.
  std::uint64_t count_overlapping(std::uint64_t at);

  // True when a header checks itself, or a payload shows where its header was; or when the file ends.
  bool starts_record(std::uint64_t at);

  // True when the four bytes at `end` are the checksum of [begin, end), which shows where a record lies that has lost
  // its header. Eight bytes show nothing where they are the length of a whole frame.
  bool is_payload(std::uint64_t begin, std::uint64_t end);

  // The first header at or after `from` that checks itself; the region's end where there is none.
  std::uint64_t find_valid_header(std::uint64_t from);

  // The first whole frame that starts at or after `from`, and before `before`; the region's end where there is none.
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
