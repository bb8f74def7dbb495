#include "io/workers.h"

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "io/process.h"

namespace penstock {

struct Workers::State {
  explicit State(std::size_t helpers) {
    threads.reserve(helpers);
    try {
      while (threads.size() < helpers) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The system has no more threads to give: those that there are, and the caller, do the work.
    }
  }

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || next < count; });
      if (stop) return;
      take_parts(lock);
    }
  }

  // Runs parts until none is left. The lock is held on entry and on return.
  void take_parts(std::unique_lock<std::mutex>& lock) {
    while (next < count) {
      const std::size_t part = next++;
      const auto* todo = task;
      lock.unlock();
      std::exception_ptr failure;
      try {
        (*todo)(part);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !error) error = failure;
      if (++finished == count) changed.notify_all();
    }
  }

  const ProcessId owner = current_process();
  std::mutex job;  // held by the caller whose job runs
  std::mutex mutex;
  std::condition_variable changed;
  const std::function<void(std::size_t)>* task = nullptr;
  std::size_t count = 0, next = 0, finished = 0;
  std::exception_ptr error;
  bool stop = false;
  std::vector<std::thread> threads;
};

Workers::Workers(std::size_t threads) : threads_(threads) {}

Workers::~Workers() {
  // In a forked child the threads are gone and a lock may be held forever: what the parent made is left alone.
  State* state = state_;
  if (state != nullptr && state->owner == current_process()) delete state;
}

Workers::State& Workers::start() {
  State* state = state_;
  while (state == nullptr || state->owner != current_process()) {
    auto fresh = std::make_unique<State>(threads_ - 1);
    if (state_.compare_exchange_strong(state, fresh.get())) return *fresh.release();
    // Another caller was quicker: its threads are used, and these end here.
  }
  return *state;
}

void Workers::run(std::size_t n, const std::function<void(std::size_t)>& task) {
  State* shared = n > 1 && threads_ > 1 ? &start() : nullptr;
  const auto own = shared ? std::unique_lock(shared->job, std::try_to_lock) : std::unique_lock<std::mutex>();
  if (!own) {
    for (std::size_t i = 0; i < n; ++i) task(i);
    return;
  }
  State& s = *shared;
  std::unique_lock lock(s.mutex);
  s.task = &task;
  s.count = n;
  s.next = s.finished = 0;
  s.error = nullptr;
  s.changed.notify_all();
  s.take_parts(lock);
  s.changed.wait(lock, [&] { return s.finished == s.count; });
  s.count = s.next = 0;
  if (s.error) std::rethrow_exception(s.error);
}

}  // namespace penstock
