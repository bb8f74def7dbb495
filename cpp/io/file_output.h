// Writes a file from its current position on.
//
// System calls end at multiples of kBlock in the file, or of a smaller power of two if less comes at a time: the page
// cache then uses large pages, and each only once. Bytes after the last multiple are held until there are more of them,
// or until flush(). For a pipe, nothing is held.
//
// If the system supports it, space for a large file is reserved ahead, which is much cheaper than allocating it page by
// page. This does not change the file's size: close() releases what is unused, and a process that is killed leaves at
// most kReserve after the end of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/frame_buffer.h"

namespace penstock {

class FileOutput {
 public:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;
  static constexpr std::size_t kReserve = std::size_t{8} << 20;

  // Duplicates the descriptor; the caller keeps its own.
  explicit FileOutput(int descriptor);
  ~FileOutput();
  FileOutput(const FileOutput&) = delete;
  FileOutput& operator=(const FileOutput&) = delete;

  // The following functions return an errno, or 0. After a failure, held bytes are lost.

  // Takes over frames and writes everything up to the last multiple.
  int write(Frames frames);

  // Writes all held bytes.
  int flush();

  // Asks the operating system to write to the disk.
  int sync();

  // On some file systems, a full disk is reported here first, and only to the first call.
  int close();

 private:
  // Frames whose first bytes are written.
  struct Part {
    Frames frames;
    std::size_t written = 0;
  };

  void reserve(std::size_t size);
  void release_reserved();
  int write_waiting(std::size_t size);
  long long write_some(std::size_t most) const;
  void advance(std::size_t size);

  int descriptor_;
  bool aligned_ = false;
  bool reserves_ = false;
  std::uint64_t position_ = 0, reserved_ = 0;
  std::vector<Part> waiting_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace penstock
