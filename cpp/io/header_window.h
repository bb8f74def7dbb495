// The headers of a file's frames, seen through a small buffer that moves along with whoever walks.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "core/frame.h"
#include "io/file.h"

namespace penstock {

class HeaderWindow {
 public:
  static constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();

  // Frames of this size and more are hopped over. A read of the header alone costs as much as reading some 8 KiB that
  // are in memory; on a disk, jumps cost more than that.
  static constexpr std::uint64_t kWorthHopping = std::uint64_t{32} << 10;

  // Reads up to `file_size`, whatever the file has become meanwhile; a longer record than `limit` is a fault.
  HeaderWindow(const File& file, std::uint64_t file_size, std::uint64_t limit);

  struct Frame {
    FaultKind fault = FaultKind::kNone;
    std::uint64_t length = 0;  // of the payload; also with kTooLarge and kTruncatedRecord
  };

  // The frame at `offset`, which is before the file's end. Its payload and checksum are there, but not looked at.
  Frame frame_at(std::uint64_t offset);

  // The first offset in [from, stop) where a frame seems to start, or kNowhere.
  std::uint64_t find_frame(std::uint64_t from, std::uint64_t stop);

 private:
  const std::byte* see(std::uint64_t offset, std::size_t size, std::size_t wanted);

  const File& file_;
  const std::uint64_t file_size_;
  const std::uint64_t limit_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint64_t begin_ = 0, end_ = 0;  // what part of the file the buffer holds
  std::uint64_t usual_frame_ = 0;      // a mean in which old frames fade
};

}  // namespace penstock
