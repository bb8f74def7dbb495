#include "io/file_records.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <iterator>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "io/process.h"

namespace penstock {
namespace {

// Blocks that wait for the consumer or for an earlier one, in addition to one for each thread.
constexpr std::uint64_t kWindowBlocks = 6;

// Waking the consumer costs as much as verifying a good part of a block, so it is woken for several blocks at once...
constexpr std::uint64_t kWorthWaking = 3;
// ... unless they take this long: the first block from a slow disk is not delayed for the next ones.
constexpr std::chrono::milliseconds kLongWait{1};

using Found = std::variant<Chunk, Fault, ValidRecords>;

ValidRecords valid_records_of(const Chunk& chunk, bool checksum) {
  ValidRecords valid{chunk.size(), kFrameOverhead * chunk.size()};
  for (std::size_t i = 0; i < chunk.size(); ++i) valid.bytes += chunk.span(i).length;
  // The frames of a chunk follow each other without a gap.
  if (checksum && chunk.size() != 0)
    valid.crc32c = crc32c_of_frames(0, {chunk.buffer->data() + chunk.span(0).offset - kHeaderBytes, valid.bytes});
  return valid;
}

}  // namespace

struct FileRecords::State : BlockConsumer {
  State(const std::filesystem::path& path, const BlockReaderOptions& options, Accept chosen, bool with_checksum)
      : accept(std::move(chosen)),
        checksum(with_checksum),
        threads(options.threads),
        slots(kWindowBlocks + threads),
        reader({path}, options, *this),
        reads_itself(reader.is_short() || available_cpus() == 1) {}

  bool take(Block block) override {
    std::vector<Found> found = check_events(std::move(block.events));
    {
      std::unique_lock lock(mutex);
      space.wait(lock, [&] { return stop || block.number < taken + slots.size(); });
      if (stop) return false;
      slot(block.number) = std::move(found);
      while (arrived < taken + slots.size() && slot(arrived)) ++arrived;
      if (!is_enough()) return true;
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
      if (!is_enough()) return;
    }
    arrival.notify_one();
  }

  std::vector<Found> check_events(std::vector<Event> events);
  bool refill(std::chrono::milliseconds timeout);

  // Requires the mutex.
  std::optional<std::vector<Found>>& slot(std::uint64_t block) { return slots[block % slots.size()]; }
  bool is_enough() const { return arrived - taken >= wanted || arrived >= blocks; }

  const Accept accept;
  const bool checksum;
  const std::size_t threads;
  const ProcessId owner = current_process();
  std::mutex mutex;
  std::condition_variable space;    // blocks were taken
  std::condition_variable arrival;  // enough blocks have arrived

  // Guarded by the mutex.
  std::vector<std::optional<std::vector<Found>>> slots;  // the events of waiting blocks
  std::uint64_t taken = 0;                               // by the consumer
  std::uint64_t arrived = 0;                             // without a gap, including those taken
  std::uint64_t wanted = 1;                              // that the consumer waits for
  std::uint64_t blocks = std::numeric_limits<std::uint64_t>::max();
  std::exception_ptr error;  // after the blocks
  bool stop = false;

  // Used by the consumer.
  std::deque<Found> available;
  bool over = false;

  BlockReader reader;  // declared last: its threads end before the members that they use
  const bool reads_itself;
};

// On a reading thread: turns a block's events into what the consumer gets.
std::vector<Found> FileRecords::State::check_events(std::vector<Event> events) {
  std::vector<Found> found;
  found.reserve(events.size());
  for (Event& event : events) {
    auto* chunk = std::get_if<Chunk>(&event);
    if (chunk && accept && accept(*chunk)) {
      found.emplace_back(valid_records_of(*chunk, checksum));
    } else {
      std::visit([&](auto& e) { found.emplace_back(std::move(e)); }, event);
    }
  }
  return found;
}

// Takes the blocks that have arrived; false if neither a block nor the end came in time.
bool FileRecords::State::refill(std::chrono::milliseconds timeout) {
  {
    if (reads_itself) reader.read_one();
    std::unique_lock lock(mutex);
    wanted = reads_itself ? 1 : kWorthWaking;
    if (!arrival.wait_for(lock, kLongWait, [&] { return is_enough(); })) {
      wanted = 1;
      if (!arrival.wait_for(lock, timeout, [&] { return is_enough(); })) return false;
    }
    if (taken >= blocks) {
      if (error) std::rethrow_exception(error);
      over = true;
    }
    for (const std::uint64_t last = std::min(arrived, blocks); taken < last; ++taken) {
      std::ranges::move(*slot(taken), std::back_inserter(available));
      slot(taken).reset();
    }
  }
  space.notify_all();
  return true;
}

FileRecords::FileRecords(const std::filesystem::path& path, const BlockReaderOptions& options, Accept accept,
                         bool checksum)
    : state_(std::make_unique<State>(path, options, std::move(accept), checksum)) {}

FileRecords::~FileRecords() {
  State& s = *state_;
  if (s.owner != current_process()) {
    // In a forked child the threads are gone and a lock may be held forever: leak everything rather than hang.
    static_cast<void>(state_.release());
    return;
  }
  {
    const std::lock_guard lock(s.mutex);
    s.stop = true;
  }
  s.space.notify_all();
}

NextEvent FileRecords::next(std::chrono::milliseconds timeout) {
  State& s = *state_;
  if (s.owner != current_process()) throw std::logic_error("a reader cannot cross a fork: open a new one in the child");
  if (!s.reads_itself && !s.reader.started()) s.reader.start(s.threads);
  while (s.available.empty()) {
    if (!s.refill(timeout)) return NotYet{};
    if (s.over) return EndOfRecords{};
  }
  NextEvent event = std::visit([](auto& e) -> NextEvent { return std::move(e); }, s.available.front());
  s.available.pop_front();
  return event;
}

}  // namespace penstock
