// Python's FrameBuffer.
#pragma once

#include <stdexcept>

#include "bindings/bindings.h"
#include "core/frame_buffer.h"

namespace penstock::bindings {

// Frames, and whether a thread is using them without the GIL. Any other thread then gets an error: unlike in pure
// Python, two concurrent writers would corrupt memory.
class GuardedFrames {
 public:
  explicit GuardedFrames(std::size_t usual) : frames_(usual) {}

  FrameBuffer& get() {
    if (busy_) throw std::runtime_error("a writer is for one thread at a time");
    return frames_;
  }

  // Calls `work` without the GIL.
  template <typename Work>
  void alone(Work work) {
    FrameBuffer& frames = get();
    busy_ = true;
    try {
      const ReleasedGil release;
      work(frames);
    } catch (...) {
      busy_ = false;
      throw;
    }
    busy_ = false;
  }

 private:
  FrameBuffer frames_;
  bool busy_ = false;  // guarded by the GIL
};

}  // namespace penstock::bindings
