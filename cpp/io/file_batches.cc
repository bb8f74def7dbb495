#include "io/file_batches.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "io/process.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

// A consumer that is back before this does little but ask for batches...
constexpr std::chrono::microseconds kShortAbsence{150};
// ... and one that is not, so many times in a row, does something else.
constexpr int kOften = 4;

// A run of rows of a batch, as they stand in a file.
struct Run {
  std::size_t first_row = 0;  // in the batch
  Place begin, end;
};

// A batch while its rows arrive.
struct Filling {
  Filling(BatchDecoder& decoder, std::size_t size) : builder(decoder, size, {}) {}

  BatchBuilder builder;
  // Guarded by the mutex of those who fill it.
  std::size_t rows = 0;  // decoded so far
  std::vector<Run> runs;
  std::size_t held_bytes = 0;
  std::optional<DecodedBatch> whole;
};

// A block, and how far it is decoded.
struct Work {
  Block block;
  std::uint64_t row;      // of the stream, that comes next
  std::size_t event = 0;  // that it is in
  std::size_t from = 0;   // its place in there
};

}  // namespace

struct FileBatches::State : BlockConsumer {
  State(std::vector<std::filesystem::path> paths, std::shared_ptr<BatchDecoder> chosen, std::size_t rows,
        const BlockReaderOptions& options)
      : decoder(std::move(chosen)),
        batch_rows(rows),
        // Decoded values may take several times the bytes that they were read from.
        most_held_bytes(4 * (options.threads + 1) * options.block_bytes),
        next_place(options.start),
        reader(std::move(paths), options, *this),
        is_short(reader.is_short()),
        spare_thread(options.threads > 1),
        threads(options.threads) {}

  bool take(Block block) override;
  void end(std::uint64_t number, std::exception_ptr found) override;
  bool decode(Work& work, bool waits);
  bool decode(Work& work, const Chunk& chunk, bool waits);
  std::shared_ptr<Filling> admit(std::uint64_t batch, bool waits);
  void complete(const std::shared_ptr<Filling>& filling);
  void count_done(std::uint64_t block, std::uint64_t end_row);
  bool reads_along(Clock::time_point now);
  void read_along(std::unique_lock<std::mutex>& lock, Clock::time_point deadline);
  void go_on();

  // Under the mutex.
  bool is_over() const { return done_blocks == blocks; }
  bool has_next() const { return is_whole(next_batch) || is_over(); }
  // Always for the batch that the consumer waits for, and the next.
  bool has_room(std::uint64_t batch) const {
    return batches.contains(batch) || batch <= next_batch + 1 || held_bytes < most_held_bytes;
  }
  bool is_whole(std::uint64_t batch) const {
    const auto found = batches.find(batch);
    return found != batches.end() && found->second && found->second->whole;
  }

  const std::shared_ptr<BatchDecoder> decoder;
  const std::size_t batch_rows;
  const std::size_t most_held_bytes;
  const ProcessId owner = current_process();

  mutable std::mutex mutex;
  std::condition_variable room;     // a batch was consumed
  std::condition_variable arrival;  // a batch is whole, or the end is known

  // Guarded by the mutex.
  std::map<std::uint64_t, std::shared_ptr<Filling>> batches;  // begun and not given out
  std::uint64_t next_batch = 0;                               // to be given out
  std::size_t held_bytes = 0;                                 // by the batches
  std::map<std::uint64_t, std::uint64_t> done;                // blocks that came early, and the row behind each
  std::uint64_t done_blocks = 0, done_rows = 0;               // of the blocks without a gap
  std::uint64_t blocks = kNoEnd;                              // in the stream
  std::exception_ptr error;                                   // what comes behind them
  std::optional<FaultInFile> fault;                           // or this
  std::thread::id reading_consumer;                           // the thread that reads along, if it does now
  bool stop = false;

  // Used by the consumer.
  Place next_place;
  std::vector<Run> last_runs;
  std::optional<Work> unfinished;            // a block that it has read, and had no room for all of
  Clock::time_point left_at = Clock::now();  // when it had what it came for
  int long_absences = 0;                     // in a row, where there was nothing for it then

  BlockReader reader;   // its threads end before what they use
  const bool is_short;  // read by the consumer alone
  bool spare_thread;    // not started: the consumer reads in its place
  const std::size_t threads;
};

bool FileBatches::State::take(Block block) {
  bool waits;
  {
    const std::lock_guard lock(mutex);
    waits = reading_consumer != std::this_thread::get_id();
  }
  const bool sound = std::ranges::all_of(block.events, [](const Event& e) { return std::holds_alternative<Chunk>(e); });
  const std::uint64_t row = block.first_row;
  Work work{std::move(block), row};
  if (decode(work, waits)) return sound;
  if (waits) return false;
  unfinished = std::move(work);
  return sound;
}

void FileBatches::State::end(std::uint64_t number, std::exception_ptr found) {
  const std::lock_guard lock(mutex);
  if (number >= blocks) return;
  blocks = number;
  error = found;
  fault.reset();
  arrival.notify_one();
}

void FileBatches::State::count_done(std::uint64_t block, std::uint64_t end_row) {
  done.emplace(block, end_row);
  for (auto it = done.begin(); it != done.end() && it->first == done_blocks && !is_over(); it = done.erase(it)) {
    ++done_blocks;
    done_rows = it->second;
  }
  if (is_over()) arrival.notify_one();
}

// Decodes what is left of a block; false where nobody wants it any more, or there is no room for it and nobody waits.
bool FileBatches::State::decode(Work& work, bool waits) {
  for (; work.event < work.block.events.size(); ++work.event, work.from = 0) {
    const Event& event = work.block.events[work.event];
    if (const auto* chunk = std::get_if<Chunk>(&event)) {
      if (!decode(work, *chunk, waits)) return false;
      continue;
    }
    const std::lock_guard lock(mutex);
    if (work.block.number >= blocks) return true;
    blocks = work.block.number + 1;
    error = nullptr;
    fault = {work.block.file, std::get<Fault>(event)};
    count_done(work.block.number, work.row);
    return true;
  }
  const std::lock_guard lock(mutex);
  count_done(work.block.number, work.row);
  return true;
}

// The same for one of its chunks, batch by batch.
bool FileBatches::State::decode(Work& work, const Chunk& chunk, bool waits) {
  while (work.from < chunk.size()) {
    const auto row_in_batch = static_cast<std::size_t>(work.row % batch_rows);
    const std::size_t to = std::min(chunk.size(), work.from + batch_rows - row_in_batch);
    const std::shared_ptr<Filling> filling = admit(work.row / batch_rows, waits);
    if (!filling) return false;

    const Chunk piece = chunk.slice(work.from, to);
    filling->builder.decode({&piece, 1}, row_in_batch);
    const std::size_t last = piece.size() - 1;
    const std::uint64_t end_offset = piece.frame_offset(last) + piece.span(last).length + kFrameOverhead;
    const Run run{row_in_batch,
                  {work.block.file, piece.frame_offset(0), piece.first_record},
                  {work.block.file, end_offset, piece.first_record + piece.size()}};
    bool whole;
    {
      const std::lock_guard lock(mutex);
      filling->runs.push_back(run);
      filling->rows += piece.size();
      whole = filling->rows == batch_rows;
    }
    if (whole) complete(filling);
    work.row += piece.size();
    work.from = to;
  }
  return true;
}

// The batch, when there is room for it. Nothing where the end came, or there is none and nobody waits.
//
// This cannot lock up: rows before those of a block that waits here are decoded by threads that have them already, or
// by the consumer before it waits, so that the batches before are given out sooner or later.
std::shared_ptr<Filling> FileBatches::State::admit(std::uint64_t batch, bool waits) {
  std::unique_lock lock(mutex);
  if (waits) room.wait(lock, [&] { return stop || has_room(batch); });
  if (stop || !has_room(batch)) return nullptr;
  std::shared_ptr<Filling>& filling = batches[batch];
  if (!filling) {
    filling = std::make_shared<Filling>(*decoder, batch_rows);
    filling->held_bytes = batch_rows * static_cast<std::size_t>(decoder->dense_row_bytes());
    held_bytes += filling->held_bytes;
  }
  return filling;
}

void FileBatches::State::complete(const std::shared_ptr<Filling>& filling) {
  const std::size_t more = filling->builder.held_bytes();
  DecodedBatch batch = filling->builder.finish(batch_rows, run_here);
  const std::lock_guard lock(mutex);
  filling->held_bytes += more;
  held_bytes += more;
  filling->whole = std::move(batch);
  arrival.notify_one();
}

// Whether the consumer, which found nothing, does the work of a thread that was not started for it. To sleep instead,
// and be woken for each batch on a CPU that a thread has to leave, costs both more than the batch costs the consumer.
// One that comes late does other things, which may need no CPU: the thread starts, and the consumer waits from then on.
bool FileBatches::State::reads_along(Clock::time_point now) {
  if (is_short || unfinished) return true;
  long_absences = now - left_at < kShortAbsence ? 0 : long_absences + 1;
  if (spare_thread && long_absences == kOften) {
    spare_thread = false;
    reader.start(1);
  }
  return spare_thread;
}

// Does what the threads do until there is something to give out.
void FileBatches::State::read_along(std::unique_lock<std::mutex>& lock, Clock::time_point deadline) {
  while (!has_next() && Clock::now() < deadline) {
    // Without room, what is missing is at threads that have it.
    if (unfinished ? !has_room(unfinished->row / batch_rows) : !is_short && held_bytes >= most_held_bytes) return;
    reading_consumer = std::this_thread::get_id();
    lock.unlock();
    const bool more = unfinished ? (go_on(), true) : reader.read_one();
    lock.lock();
    reading_consumer = {};
    if (!more) return;
  }
}

void FileBatches::State::go_on() {
  try {
    if (decode(*unfinished, false)) unfinished.reset();
  } catch (...) {
    const std::uint64_t number = unfinished->block.number;
    unfinished.reset();
    end(number, std::current_exception());
  }
}

FileBatches::FileBatches(std::vector<std::filesystem::path> paths, std::shared_ptr<BatchDecoder> decoder,
                         std::size_t batch_rows, const BlockReaderOptions& options)
    : state_(std::make_unique<State>(std::move(paths), std::move(decoder), batch_rows, options)) {}

FileBatches::~FileBatches() {
  State& s = *state_;
  if (s.owner != current_process()) {
    static_cast<void>(state_.release());  // in a forked child the threads are gone and a lock may be held forever
    return;
  }
  {
    const std::lock_guard lock(s.mutex);
    s.stop = true;
  }
  s.room.notify_all();
}

NextBatch FileBatches::next(std::chrono::milliseconds patience) {
  State& s = *state_;
  if (s.owner != current_process()) throw std::logic_error("batches cannot cross a fork: open new ones in the child");
  if (!s.is_short && !s.reader.started()) s.reader.start(s.threads - (s.spare_thread ? 1 : 0));
  const Clock::time_point now = Clock::now(), deadline = now + patience;
  std::unique_lock lock(s.mutex);
  if (!s.has_next()) {
    // Not under the lock: a thread that claims a block asks for the reader's lock first, and for this one then.
    lock.unlock();
    const bool along = s.reads_along(now);
    lock.lock();
    if (along) s.read_along(lock, deadline);
  }
  if (!s.arrival.wait_until(lock, deadline, [&] { return s.has_next(); })) return NotYet{};

  const std::uint64_t first_row = s.next_batch * s.batch_rows;
  // Behind the end, rows may have been decoded that do not count.
  std::size_t rows = s.batch_rows;
  if (s.is_over()) rows = std::min<std::uint64_t>(rows, s.done_rows - std::min(s.done_rows, first_row));
  if (rows == 0) {
    if (s.error) std::rethrow_exception(s.error);
    if (!s.fault) return EndOfRecords{};
    return *std::exchange(s.fault, std::nullopt);
  }
  const std::shared_ptr<Filling> filling = std::move(s.batches.extract(s.next_batch).mapped());
  ++s.next_batch;
  s.held_bytes -= filling->held_bytes;
  s.last_runs = std::exchange(filling->runs, {});
  lock.unlock();
  s.room.notify_all();

  std::erase_if(s.last_runs, [&](const Run& run) { return run.first_row >= rows; });
  std::ranges::sort(s.last_runs, {}, &Run::first_row);
  DecodedBatch batch = filling->whole ? std::move(*filling->whole) : filling->builder.finish(rows, run_here);
  if (batch.fault.fault == ExampleFault::kNone) s.next_place = s.last_runs.back().end;
  s.left_at = Clock::now();
  return batch;
}

Place FileBatches::place() const { return state_->next_place; }

Place FileBatches::place_of(std::size_t row) const {
  const std::vector<Run>& runs = state_->last_runs;
  auto run = std::ranges::upper_bound(runs, row, {}, &Run::first_row);
  if (run == runs.begin()) throw std::logic_error("no batch was given");
  --run;
  return {run->begin.file, run->begin.offset, run->begin.record + row - run->first_row};
}

}  // namespace penstock
