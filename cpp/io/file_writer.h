// Writes buffers to a file in order, on a thread of its own, so that framing the next buffer overlaps with the kernel's
// copy of the last one.
//
// Errors are sticky: once a write has failed, every later call throws that error again. At most two buffers wait, so a
// slow disk holds memory still. The thread starts with the first buffer. The descriptor stays its owner's.
#pragma once

#include <cstddef>
#include <memory>

#include "core/buffer.h"

namespace penstock {

class FileWriter {
 public:
  explicit FileWriter(int descriptor);
  // Waits for what was submitted; an error that nobody asked about is lost, so call drain() before.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  // Takes over `size` bytes of `buffer`. Blocks while two buffers wait.
  void submit(SharedBuffer buffer, std::size_t size);

  // Blocks until everything submitted is with the operating system.
  void drain();

  // drain(), then asks the operating system to put it on the disk.
  void sync();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
