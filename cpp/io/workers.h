// A few threads that run the parts of one job, and the caller with them.
//
// The threads start with the first job that has more than one part; a forked child starts its own. To wake a thread
// takes as long as to read dozens of records from memory, so they may stay awake for a while where more jobs are to be
// expected.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>

namespace penstock {

class Workers {
 public:
  explicit Workers(std::size_t threads, std::chrono::microseconds awake = {});
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Runs task(0) ... task(n - 1) and returns when all are done; rethrows the first exception. Thread-safe: while the
  // threads have a job, other callers do theirs alone.
  void run(std::size_t n, const std::function<void(std::size_t)>& task);

  std::size_t threads() const { return threads_; }

 private:
  struct State;
  State& start();

  std::size_t threads_;
  std::chrono::microseconds awake_;     // for how long a thread that has nothing to do waits before it sleeps
  std::atomic<State*> state_{nullptr};  // no lock: one that is held when the process forks stays held in the child
};

}  // namespace penstock
