#include "io/file_records.h"

#include <condition_variable>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <stdexcept>

#include "io/process.h"

namespace penstock {
namespace {

// Blocks that wait for the consumer, besides the one that each thread has.
constexpr std::uint64_t kWaiting = 2;

}  // namespace

struct FileRecords::State : BlockConsumer {
  State(const std::filesystem::path& path, const BlockReaderOptions& options) : reader({path}, options, *this) {}

  bool take(Block block) override {
    {
      std::unique_lock lock(mutex);
      room.wait(lock, [&] { return stop || block.number < next_delivered + kWaiting; });
      if (stop) return false;
      results.emplace(block.number, std::move(block.events));
    }
    arrival.notify_one();
    return true;
  }

  void end(std::uint64_t number, std::exception_ptr found) override {
    {
      const std::lock_guard lock(mutex);
      if (number >= blocks) return;
      blocks = number;
      error = found;
    }
    arrival.notify_one();
  }

  const ProcessId owner = current_process();
  std::mutex mutex;
  std::condition_variable room;     // a block was consumed
  std::condition_variable arrival;  // a block's events are there, or it is known that there are none

  // Guarded by the mutex.
  std::uint64_t next_delivered = 0;  // to be consumed
  std::map<std::uint64_t, std::vector<Event>> results;
  std::uint64_t blocks = std::numeric_limits<std::uint64_t>::max();
  std::exception_ptr error;  // what comes behind them
  bool stop = false;

  std::deque<Event> events;  // used by the consumer
  BlockReader reader;        // last: its threads end before what they use
};

FileRecords::FileRecords(const std::filesystem::path& path, const BlockReaderOptions& options)
    : state_(std::make_unique<State>(path, options)) {}

FileRecords::~FileRecords() {
  State& s = *state_;
  if (s.owner != current_process()) {
    // In a forked child the threads are gone and a lock may be held forever: leak it all rather than hang.
    static_cast<void>(state_.release());
    return;
  }
  {
    const std::lock_guard lock(s.mutex);
    s.stop = true;
  }
  s.room.notify_all();
}

NextEvent FileRecords::next(std::chrono::milliseconds patience) {
  State& s = *state_;
  if (s.owner != current_process()) throw std::logic_error("a reader cannot cross a fork: open a new one in the child");
  if (!s.reader.started()) s.reader.start();
  for (;;) {
    if (!s.events.empty()) {
      Event event = std::move(s.events.front());
      s.events.pop_front();
      return std::visit([](auto& e) -> NextEvent { return std::move(e); }, event);
    }
    std::unique_lock lock(s.mutex);
    const auto ready = [&] { return s.results.contains(s.next_delivered) || s.next_delivered >= s.blocks; };
    if (!s.arrival.wait_for(lock, patience, ready)) return NotYet{};
    if (s.next_delivered >= s.blocks) {
      if (s.error) std::rethrow_exception(s.error);
      return EndOfRecords{};
    }
    const auto found = s.results.find(s.next_delivered);
    s.events.assign(std::make_move_iterator(found->second.begin()), std::make_move_iterator(found->second.end()));
    s.results.erase(found);
    ++s.next_delivered;
    lock.unlock();
    s.room.notify_all();
  }
}

}  // namespace penstock
