#include "io/file_writer.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "io/file_output.h"
#include "io/process.h"

namespace penstock {
namespace {

constexpr std::size_t kMaxWaiting = 2;

// How long the destructor waits for the thread before it detaches it.
constexpr std::chrono::milliseconds kLastTimeout{500};

}  // namespace

struct FileWriter::State {
  explicit State(int descriptor) : output(descriptor) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || urgent || !waiting.empty(); });
      if (waiting.empty() && settled) break;
      Frames next;
      if (!waiting.empty()) {
        next = std::move(waiting.front());
        waiting.pop_front();
      }
      const bool last = waiting.empty() && (urgent || stop);
      // After a failure the rest is dropped: bytes after a gap would look like a valid file.
      const bool dropped = error != 0;
      lock.unlock();
      changed.notify_all();
      int failed = 0;
      if (!dropped && next.size != 0) failed = output.write(std::move(next));
      if (!dropped && failed == 0 && last) failed = output.flush();
      lock.lock();
      if (failed != 0) error = failed;
      settled = waiting.empty() && (last || error != 0);
      if (settled) urgent = false;
      changed.notify_all();
    }
    ended = true;
    changed.notify_all();
  }

  void raise_if_failed() const {
    if (error != 0) throw std::system_error(error, std::generic_category());
  }

  void check_process() const {
    if (owner != current_process()) throw std::logic_error("a writer cannot cross a fork: open a new one in the child");
  }

  FileOutput output;  // owned by the thread while there is something to write
  const ProcessId owner = current_process();
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Frames> waiting;  // guarded by the mutex, as are the next five
  bool settled = true;         // everything that was submitted is written or lost
  bool urgent = false;         // a caller waits for that
  bool stop = false;
  bool ended = false;
  int error = 0;
  bool stuck = false;  // the thread was detached in the middle of a write
  std::thread thread;
};

FileWriter::FileWriter(int descriptor) : state_(std::make_shared<State>(descriptor)) {}

FileWriter::~FileWriter() {
  if (state_->owner == current_process()) {
    end_thread();
  } else {
    // In a forked child the thread is gone and the lock may be held forever; the parent writes the file.
    static_cast<void>(new std::shared_ptr<State>(std::move(state_)));
  }
}

bool FileWriter::end_thread() {
  State& s = *state_;
  if (!s.thread.joinable()) return !s.stuck;
  bool ended = false;
  {
    std::unique_lock lock(s.mutex);
    s.stop = true;
    s.changed.notify_all();
    ended = s.changed.wait_for(lock, kLastTimeout, [&] { return s.ended; });
  }
  ended ? s.thread.join() : s.thread.detach();
  s.stuck = !ended;
  return ended;
}

void FileWriter::close() {
  State& s = *state_;
  if (s.owner != current_process() || !end_thread()) return;
  const int failed = s.output.close();
  const std::lock_guard lock(s.mutex);
  if (failed != 0 && s.error == 0) s.error = failed;
  s.raise_if_failed();
}

bool FileWriter::submit(const Frames& frames, std::chrono::milliseconds timeout) {
  State& s = *state_;
  s.check_process();
  std::unique_lock lock(s.mutex);
  const auto ready = [&] { return s.error != 0 || s.waiting.size() < kMaxWaiting; };
  if (!s.changed.wait_for(lock, timeout, ready)) return false;
  s.raise_if_failed();
  if (!s.thread.joinable()) s.thread = std::thread([state = state_] { state->work(); });
  s.waiting.push_back(frames);
  s.settled = false;
  lock.unlock();
  s.changed.notify_all();
  return true;
}

bool FileWriter::drain(std::chrono::milliseconds timeout) {
  State& s = *state_;
  s.check_process();
  std::unique_lock lock(s.mutex);
  s.urgent = !s.settled;
  s.changed.notify_all();
  if (!s.changed.wait_for(lock, timeout, [&] { return s.settled; })) return false;
  s.raise_if_failed();
  return true;
}

void FileWriter::sync() {
  State& s = *state_;
  s.check_process();
  const int failed = s.output.sync();
  const std::lock_guard lock(s.mutex);
  if (failed != 0) s.error = failed;
  s.raise_if_failed();
}

}  // namespace penstock
