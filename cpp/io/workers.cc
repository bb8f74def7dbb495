#include "io/workers.h"

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "io/process.h"

namespace penstock {

struct Workers::State {
  State(std::size_t helpers, std::chrono::microseconds stay_awake) : awake(stay_awake) {
    threads.reserve(helpers);
    try {
      while (threads.size() < helpers) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // No more threads are available: the existing ones and the caller do the work.
    }
  }

  ~State() {
    stop = true;
    wake(parts);
    for (std::thread& thread : threads) thread.join();
  }

  void work() {
    for (;;) {
      wait(parts, [this] { return stop || unclaimed != 0; });
      if (stop) return;
      take_parts();
    }
  }

  // Runs parts until none is left.
  void take_parts() {
    std::size_t left = unclaimed;
    while (left != 0) {
      if (!unclaimed.compare_exchange_weak(left, left - 1)) continue;
      // The job cannot end before this part of it, so it stays valid until then.
      try {
        (*task)(count - left);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
      if (--unfinished == 0) wake(end);
      left = unclaimed;
    }
  }

  // Where threads sleep.
  struct WaitPoint {
    std::atomic<int> sleepers = 0;
    std::condition_variable changed;
  };

  // Spins for a while, then sleeps. A thread that changes what `ready` examines must call wake().
  template <typename Ready>
  void wait(WaitPoint& point, Ready ready) {
    if (awake.count() != 0) {
      const auto until = std::chrono::steady_clock::now() + awake;
      while (!ready() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    }
    if (ready()) return;
    std::unique_lock lock(mutex);
    ++point.sleepers;  // before the last check, so that the other thread sees this sleeper or is seen
    point.changed.wait(lock, ready);
    --point.sleepers;
  }

  void wake(WaitPoint& point) {
    if (point.sleepers == 0) return;
    const std::lock_guard lock(mutex);  // a thread that checked in vain is asleep when this is free
    point.changed.notify_all();
  }

  const ProcessId owner = current_process();
  const std::chrono::microseconds awake;
  std::mutex job;  // held by the caller whose job runs

  const std::function<void(std::size_t)>* task = nullptr;
  std::size_t count = 0;
  std::atomic<std::size_t> unclaimed = 0, unfinished = 0;  // parts

  std::mutex mutex;
  std::exception_ptr error;  // guarded by the mutex
  WaitPoint parts, end;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
};

Workers::Workers(std::size_t threads, std::chrono::microseconds awake) : threads_(threads), awake_(awake) {}

Workers::~Workers() {
  // In a forked child the threads are gone and a lock may be held forever: leave the parent's state alone.
  State* state = state_;
  if (state != nullptr && state->owner == current_process()) delete state;
}

Workers::State& Workers::start() {
  State* state = state_;
  while (state == nullptr || state->owner != current_process()) {
    auto fresh = std::make_unique<State>(threads_ - 1, awake_);
    if (state_.compare_exchange_strong(state, fresh.get())) return *fresh.release();
    // Another caller was faster: its threads are used, and these end here.
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
  s.task = &task;
  s.count = s.unfinished = n;
  s.unclaimed = n;  // from here on, parts are taken
  s.wake(s.parts);
  s.take_parts();
  s.wait(s.end, [&] { return s.unfinished == 0; });
  if (const std::exception_ptr error = std::exchange(s.error, nullptr)) std::rethrow_exception(error);
}

}  // namespace penstock
