// A file that is written from its current position on.
//
// Calls to the system end at multiples of kBlock in the file, or of a smaller power of two where less comes at a time:
// the page cache then takes large pages, and none of them twice. Bytes behind the last multiple wait for more of them,
// or for flush(). In a pipe nothing waits.
//
// Where the system can, space for the next bytes of a large file is reserved before they are there, which costs it much
// less than finding it page by page. Nobody sees that but the disk: close() gives back what was not used, and a process
// that is killed leaves at most kReserve behind the end of the file.
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

  // Has a copy of its own of the descriptor, which stays its owner's.
  explicit FileOutput(int descriptor);
  ~FileOutput();
  FileOutput(const FileOutput&) = delete;
  FileOutput& operator=(const FileOutput&) = delete;

  // The calls below answer an errno, or 0. After a failure, what waits is lost.

  // Takes frames over and writes all up to the last multiple.
  int write(Frames frames);

  // Writes what waits.
  int flush();

  // Asks the operating system to put what was written on the disk.
  int sync();

  // On some file systems this is where a full disk is first told of, and to whoever closes first.
  int close();

 private:
  // Frames of which the first bytes are written.
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
