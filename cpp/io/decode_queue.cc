#include "io/decode_queue.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "io/process.h"

namespace penstock {
namespace {

struct Job {
  std::vector<Chunk> chunks;
  Outputs outputs;
  DecodedBatch batch;
  std::exception_ptr error;
  bool done = false;
};

}  // namespace

struct DecodeQueue::State {
  State(std::shared_ptr<BatchDecoder> chosen, std::size_t count) : decoder(std::move(chosen)), thread_count(count) {}

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || !waiting.empty(); });
      if (stop) return;
      const std::shared_ptr<Job> job = waiting.front();
      waiting.pop_front();
      lock.unlock();
      try {
        job->batch = decoder->decode(job->chunks, job->outputs, 1, run_here);
      } catch (...) {
        job->error = std::current_exception();
      }
      job->chunks.clear();
      lock.lock();
      job->done = true;
      arrival.notify_all();
    }
  }

  void check_process() const {
    if (owner != current_process()) throw std::logic_error("a decoder queue cannot cross a fork");
  }

  const std::shared_ptr<BatchDecoder> decoder;
  const std::size_t thread_count;
  const ProcessId owner = current_process();
  std::mutex mutex;
  std::condition_variable changed, arrival;
  std::deque<std::shared_ptr<Job>> waiting;  // guarded by the mutex, as is `done` of every job
  bool stop = false;
  std::deque<std::shared_ptr<Job>> ordered;  // used by the consumer
  std::vector<std::thread> threads;
};

DecodeQueue::DecodeQueue(std::shared_ptr<BatchDecoder> decoder, std::size_t threads)
    : state_(std::make_unique<State>(std::move(decoder), threads)) {}

DecodeQueue::~DecodeQueue() {
  State& s = *state_;
  if (s.owner != current_process()) {
    static_cast<void>(state_.release());  // in a forked child the threads are gone and a lock may be held forever
    return;
  }
  {
    const std::lock_guard lock(s.mutex);
    s.stop = true;
  }
  s.changed.notify_all();
  for (std::thread& thread : s.threads) thread.join();
}

void DecodeQueue::submit(std::vector<Chunk> chunks, Outputs outputs) {
  State& s = *state_;
  s.check_process();
  // First, because it may fail: nothing may be under way then, for the caller lets go of the outputs.
  if (s.threads.size() < s.thread_count) s.threads.emplace_back([&s] { s.work(); });
  auto job = std::make_shared<Job>();
  job->chunks = std::move(chunks);
  job->outputs = std::move(outputs);
  s.ordered.push_back(job);
  {
    const std::lock_guard lock(s.mutex);
    s.waiting.push_back(std::move(job));
  }
  s.changed.notify_one();
}

std::size_t DecodeQueue::pending() const { return state_->ordered.size(); }

std::optional<DecodedBatch> DecodeQueue::next(std::chrono::milliseconds patience) {
  State& s = *state_;
  s.check_process();
  if (s.ordered.empty()) throw std::logic_error("no batch was submitted");
  const std::shared_ptr<Job> job = s.ordered.front();
  {
    std::unique_lock lock(s.mutex);
    if (!s.arrival.wait_for(lock, patience, [&] { return job->done; })) return std::nullopt;
  }
  s.ordered.pop_front();
  if (job->error) std::rethrow_exception(job->error);
  return std::move(job->batch);
}

}  // namespace penstock
