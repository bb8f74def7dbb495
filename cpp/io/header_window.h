// The frame headers of a file, seen through a small buffer that moves forward.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "core/frame.h"
#include "io/file.h"

namespace penstock {

class HeaderWindow {
 public:
  static constexpr std::uint64_t kNotFound = std::numeric_limits<std::uint64_t>::max();

  // Frames of this size and above are skipped by seeking. Reading a header alone costs as much as reading some 8 KiB
  // from memory; on a disk, seeking costs more.
  static constexpr std::uint64_t kMinSeekBytes = std::uint64_t{32} << 10;

  // Reads up to `file_size`, even if the file has changed; a record longer than `limit` is a fault.
  HeaderWindow(const File& file, std::uint64_t file_size, std::uint64_t limit);

  struct Frame {
    FaultKind fault = FaultKind::kNone;
    std::uint64_t length = 0;  // of the payload; also with kTooLarge and kTruncatedRecord
  };

  // Returns the frame at `offset`, which is before the file's end. Its payload and checksum are in the file, but not
  // checked.
  Frame frame_at(std::uint64_t offset);

  // Returns the first offset in [from, stop) where a frame seems to start, or kNotFound.
  std::uint64_t find_frame(std::uint64_t from, std::uint64_t stop);

 private:
  const std::byte* read_window(std::uint64_t offset, std::size_t size, std::size_t wanted);

  const File& file_;
  const std::uint64_t file_size_;
  const std::uint64_t limit_;
  std::unique_ptr<std::byte[]> buffer_;
  std::uint64_t begin_ = 0, end_ = 0;  // the range of the file in the buffer
  std::uint64_t usual_frame_ = 0;      // a decaying mean
};

}  // namespace penstock
