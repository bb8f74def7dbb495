// Which process this is: a forked child must not wait for the threads of its parent.
#pragma once

#ifdef _WIN32
#include <process.h>
#else
#include <unistd.h>
#endif

namespace penstock {

using ProcessId = long;

inline ProcessId current_process() {
#ifdef _WIN32
  return _getpid();
#else
  return static_cast<ProcessId>(::getpid());
#endif
}

}  // namespace penstock
