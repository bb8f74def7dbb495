// Writes buffers to a file in order, on a thread of its own, so that framing the next buffer overlaps with the kernel's
// copy of the last one.
//
// Errors are sticky: after a failed write, every later call throws that error again. At most two buffers wait, so a
// slow disk does not increase memory. The thread starts with the first buffer. It has a duplicate of the descriptor, so
// that it can outlive this object if a write never returns (a pipe without a reader).
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "core/frame_buffer.h"

namespace penstock {

class FileWriter {
 public:
  explicit FileWriter(int descriptor);
  // Waits briefly for submitted buffers. An unreported error is lost, so call close() first.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Takes over frames; false if two buffers still wait after `timeout`.
  bool submit(const Frames& frames, std::chrono::milliseconds timeout);

  // True once everything submitted is with the operating system; false after `timeout`.
  bool drain(std::chrono::milliseconds timeout);

  // Asks the operating system to write what was drained to the disk.
  void sync();

  // Ends the thread and closes the duplicate descriptor; throws the error of that or of an earlier write. A thread that
  // is stuck in a write is detached after a moment. No other call may follow.
  void close();

 private:
  struct State;
  bool end_thread();

  std::shared_ptr<State> state_;
};

}  // namespace penstock
