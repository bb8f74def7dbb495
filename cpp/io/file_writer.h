// Writes buffers to a file in order, on a thread of its own, so that framing the next buffer overlaps with the kernel's
// copy of the last one.
//
// Errors are sticky: once a write has failed, every later call throws that error again. At most two buffers wait, so a
// slow disk holds memory still. The thread starts with the first buffer. The descriptor stays its owner's: the thread
// has a copy of its own, so that it can outlive this object when a write never returns (a pipe that nobody reads).
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "core/frame_buffer.h"

namespace penstock {

class FileWriter {
 public:
  explicit FileWriter(int descriptor);
  // Waits a moment for what was submitted; an error that nobody asked about is lost, so call close() before.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Takes over frames; false when two buffers still wait after `patience`.
  bool submit(const Frames& frames, std::chrono::milliseconds timeout);

  // True when everything submitted is with the operating system; false after `patience`.
  bool drain(std::chrono::milliseconds timeout);

  // Asks the operating system to put what was drained on the disk.
  void sync();

  // Ends the thread and closes the copy of the descriptor; throws what that, or a write before it, came to. A thread
  // that is stuck in a write is let go of after a moment. No other call may follow.
  void close();

 private:
  struct State;
  bool end_thread();

  std::shared_ptr<State> state_;
};

}  // namespace penstock
