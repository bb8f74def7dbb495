#include "io/file_writer.h"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "io/process.h"

#ifdef _WIN32
#include <io.h>
#else
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
  return ::fsync(descriptor) == 0 ? 0 : errno;
#endif
}

struct Pending {
  SharedBuffer buffer;
  std::size_t size;
};

constexpr std::size_t kMostWaiting = 2;

}  // namespace

struct FileWriter::State {
  explicit State(int fd) : descriptor(fd) {}

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stop || !waiting.empty(); });
      if (waiting.empty()) return;
      Pending next = std::move(waiting.front());
      waiting.pop_front();
      writing = true;
      lock.unlock();
      changed.notify_all();
      // After a failure the rest is dropped: bytes behind a gap would look like a file.
      const int failed = error == 0 ? write_all(descriptor, next.buffer->data(), next.size) : 0;
      next.buffer.reset();
      lock.lock();
      writing = false;
      if (failed != 0) error = failed;
      changed.notify_all();
    }
  }

  void raise_if_failed() const {
    if (error != 0) throw std::system_error(error, std::generic_category());
  }

  const int descriptor;
  const ProcessId owner = current_process();
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Pending> waiting;  // guarded by the mutex, as are the next three
  bool writing = false;
  bool stop = false;
  int error = 0;
  std::thread thread;
};

FileWriter::FileWriter(int descriptor) : state_(std::make_unique<State>(descriptor)) {}

FileWriter::~FileWriter() {
  State& s = *state_;
  if (s.owner != current_process()) {
    // In a forked child the thread is gone and the lock may be held forever; the parent writes the file.
    static_cast<void>(state_.release());
    return;
  }
  {
    const std::lock_guard lock(s.mutex);
    s.stop = true;
  }
  s.changed.notify_all();
  if (s.thread.joinable()) s.thread.join();
}

void FileWriter::submit(SharedBuffer buffer, std::size_t size) {
  State& s = *state_;
  if (s.owner != current_process()) throw std::logic_error("a writer cannot cross a fork: open a new one in the child");
  std::unique_lock lock(s.mutex);
  s.changed.wait(lock, [&] { return s.error != 0 || s.waiting.size() < kMostWaiting; });
  s.raise_if_failed();
  s.waiting.push_back({std::move(buffer), size});
  if (!s.thread.joinable()) s.thread = std::thread([&s] { s.work(); });
  lock.unlock();
  s.changed.notify_all();
}

void FileWriter::drain() {
  State& s = *state_;
  if (s.owner != current_process()) throw std::logic_error("a writer cannot cross a fork: open a new one in the child");
  std::unique_lock lock(s.mutex);
  s.changed.wait(lock, [&] { return s.waiting.empty() && !s.writing; });
  s.raise_if_failed();
}

void FileWriter::sync() {
  drain();
  State& s = *state_;
  const int failed = sync_to_disk(s.descriptor);
  const std::lock_guard lock(s.mutex);
  if (failed != 0) s.error = failed;
  s.raise_if_failed();
}

}  // namespace penstock
