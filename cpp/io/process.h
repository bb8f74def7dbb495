// The process's id, by which a forked child detects that its parent's threads do not exist, and its CPUs.
#pragma once

#include <algorithm>
#include <thread>

#ifdef _WIN32
#include <process.h>
#else
#include <unistd.h>
#endif
#ifdef __linux__
#include <sched.h>
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

// The CPUs that the calling thread may run on.
inline unsigned available_cpus() {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return static_cast<unsigned>(CPU_COUNT(&allowed));
#endif
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace penstock
