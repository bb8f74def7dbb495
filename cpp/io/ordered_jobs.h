// Runs jobs on threads, in parallel, and returns them in the order in which they were submitted.
//
// submit() and next() are for one consumer. Threads start with the first jobs and end with the object; in a forked
// child, where they do not exist, it does not wait for them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "io/process.h"

namespace penstock {

template <typename Job>
class OrderedJobs {
 public:
  OrderedJobs(std::size_t threads, std::function<void(Job&)> run)
      : state_(std::make_unique<State>(threads, std::move(run))) {}

  ~OrderedJobs() {
    State& s = *state_;
    if (s.owner != current_process()) {
      static_cast<void>(state_.release());  // the threads are gone, and a lock may be held forever
      return;
    }
    {
      const std::lock_guard lock(s.mutex);
      s.stop = true;
    }
    s.changed.notify_all();
    for (std::thread& thread : s.threads) thread.join();
  }
  OrderedJobs(const OrderedJobs&) = delete;
  OrderedJobs& operator=(const OrderedJobs&) = delete;

  void submit(Job job) {
    State& s = *state_;
    check_process();
    // First, because it may fail: the job must not be queued then, since the caller releases what it uses.
    if (s.threads.size() < s.thread_count) s.threads.emplace_back([&s] { s.work(); });
    auto entry = std::make_shared<Entry>(std::move(job));
    s.ordered.push_back(entry);
    {
      const std::lock_guard lock(s.mutex);
      s.waiting.push_back(std::move(entry));
    }
    s.changed.notify_one();
  }

  // Jobs submitted and not yet taken.
  std::size_t pending() const { return state_->ordered.size(); }

  // Returns the oldest job once it is done, or nothing after `timeout`. Throws what the job threw.
  std::optional<Job> next(std::chrono::milliseconds timeout) {
    State& s = *state_;
    check_process();
    if (s.ordered.empty()) throw std::logic_error("nothing was submitted");
    const std::shared_ptr<Entry> entry = s.ordered.front();
    {
      std::unique_lock lock(s.mutex);
      if (!s.arrival.wait_for(lock, timeout, [&] { return entry->done; })) return std::nullopt;
    }
    s.ordered.pop_front();
    if (entry->error) std::rethrow_exception(entry->error);
    return std::move(entry->job);
  }

  void check_process() const {
    if (state_->owner != current_process())
      throw std::logic_error("threads cannot cross a fork: open a new reader in the child");
  }

 private:
  struct Entry {
    explicit Entry(Job submitted) : job(std::move(submitted)) {}
    Job job;
    std::exception_ptr error;
    bool done = false;  // guarded by the mutex
  };

  struct State {
    State(std::size_t count, std::function<void(Job&)> task) : thread_count(count), run(std::move(task)) {}

    void work() {
      std::unique_lock lock(mutex);
      for (;;) {
        changed.wait(lock, [&] { return stop || !waiting.empty(); });
        if (stop) return;
        const std::shared_ptr<Entry> entry = std::move(waiting.front());
        waiting.pop_front();
        lock.unlock();
        try {
          run(entry->job);
        } catch (...) {
          entry->error = std::current_exception();
        }
        lock.lock();
        entry->done = true;
        arrival.notify_all();
      }
    }

    const std::size_t thread_count;
    const std::function<void(Job&)> run;
    const ProcessId owner = current_process();
    std::mutex mutex;
    std::condition_variable changed, arrival;
    std::deque<std::shared_ptr<Entry>> waiting;  // guarded by the mutex
    bool stop = false;                           // guarded by the mutex
    std::deque<std::shared_ptr<Entry>> ordered;  // used by the consumer
    std::vector<std::thread> threads;
  };

  std::unique_ptr<State> state_;
};

}  // namespace penstock
