#include "io/file_writer.h"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "io/process.h"

#ifdef _WIN32
#include <io.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

namespace penstock {
namespace {

// Most bytes for one call: well below what any system refuses.
constexpr std::size_t kMostPerCall = std::size_t{1} << 30;

long long write_some(int descriptor, const std::byte* data, std::size_t size) {
#ifdef _WIN32
  return ::_write(descriptor, data, static_cast<unsigned>(size));
#else
  return ::write(descriptor, data, size);
#endif
}

// Answers an errno, or 0.
int write_all(int descriptor, const std::byte* data, std::size_t size) {
  while (size > 0) {
    const long long n = write_some(descriptor, data, size < kMostPerCall ? size : kMostPerCall);
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return 0;
}

int sync_to_disk(int descriptor) {
#ifdef _WIN32
  return ::_commit(descriptor) == 0 ? 0 : errno;
#else
#ifdef F_FULLFSYNC
  // On macOS fsync() leaves the bytes in the drive's cache. Not every file system knows this call.
  if (::fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
#endif
  while (::fsync(descriptor) != 0)
    if (errno != EINTR) return errno;
  return 0;
#endif
}

int copy_of(int descriptor) {
#ifdef _WIN32
  const int copy = ::_dup(descriptor);
#else
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
#endif
  if (copy < 0) throw std::system_error(errno, std::generic_category());
  return copy;
}

// Answers an errno, or 0. On some file systems this is where a full disk is first told of, and to whoever closes first.
int close_copy(int descriptor) {
#ifdef _WIN32
  const int result = ::_close(descriptor);
#else
  const int result = ::close(descriptor);
#endif
  return result == 0 || errno == EINTR ? 0 : errno;  // closed it is, interrupted or not
}

constexpr std::size_t kMostWaiting = 2;

// How long the destructor waits for the thread before it lets go of it.
constexpr std::chrono::milliseconds kLastPatience{500};

}  // namespace

struct FileWriter::State {
  explicit State(int fd) : descriptor(copy_of(fd)) {}
  ~State() {
    if (descriptor >= 0) close_copy(descriptor);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || !waiting.empty(); });
      if (waiting.empty()) break;
      Frames next = std::move(waiting.front());
      waiting.pop_front();
      writing = true;
      // After a failure the rest is dropped: bytes behind a gap would look like a file.
      const bool dropped = error != 0;
      lock.unlock();
      changed.notify_all();
      if (!dropped) next.seal();
      const int failed = dropped ? 0 : write_all(descriptor, next.buffer->data(), next.size);
      next.buffer.reset();
      lock.lock();
      writing = false;
      if (failed != 0) error = failed;
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

  int descriptor;  // the thread's alone while it runs
  const ProcessId owner = current_process();
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Frames> waiting;  // guarded by the mutex, as are the next four
  bool writing = false;
  bool stop = false;
  bool ended = false;
  int error = 0;
  bool stuck = false;  // the thread was let go of in the middle of a write
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
    ended = s.changed.wait_for(lock, kLastPatience, [&] { return s.ended; });
  }
  ended ? s.thread.join() : s.thread.detach();
  s.stuck = !ended;
  return ended;
}

void FileWriter::close() {
  State& s = *state_;
  if (s.owner != current_process() || !end_thread() || s.descriptor < 0) return;
  const int failed = close_copy(std::exchange(s.descriptor, -1));
  const std::lock_guard lock(s.mutex);
  if (failed != 0 && s.error == 0) s.error = failed;
  s.raise_if_failed();
}

bool FileWriter::submit(const Frames& frames, std::chrono::milliseconds patience) {
  State& s = *state_;
  s.check_process();
  std::unique_lock lock(s.mutex);
  const auto ready = [&] { return s.error != 0 || s.waiting.size() < kMostWaiting; };
  if (!s.changed.wait_for(lock, patience, ready)) return false;
  s.raise_if_failed();
  if (!s.thread.joinable()) s.thread = std::thread([state = state_] { state->work(); });
  s.waiting.push_back(frames);
  lock.unlock();
  s.changed.notify_all();
  return true;
}

bool FileWriter::drain(std::chrono::milliseconds patience) {
  State& s = *state_;
  s.check_process();
  std::unique_lock lock(s.mutex);
  if (!s.changed.wait_for(lock, patience, [&] { return s.waiting.empty() && !s.writing; })) return false;
  s.raise_if_failed();
  return true;
}

void FileWriter::sync() {
  State& s = *state_;
  s.check_process();
  const int failed = sync_to_disk(s.descriptor);
  const std::lock_guard lock(s.mutex);
  if (failed != 0) s.error = failed;
  s.raise_if_failed();
}

}  // namespace penstock
