// A few threads that run the parts of one job together with the caller.
//
// The threads start with the first job that has more than one part; a forked child starts its own. Waking a thread
// takes as long as reading dozens of records from memory, so threads can stay awake for a while when more jobs are
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
  // threads have a job, other callers run theirs alone.
  void run(std::size_t n, const std::function<void(std::size_t)>& task);

  std::size_t threads() const { return threads_; }

 private:
  struct State;
  State& start();

  std::size_t threads_;
  std::chrono::microseconds awake_;     // how long an idle thread spins before it sleeps
  std::atomic<State*> state_{nullptr};  // no lock: one that is held during a fork stays held in the child
};

}  // namespace penstock
