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

// A consumer that returns within this time does little but ask for batches.
constexpr std::chrono::microseconds kShortAbsence{150};
// One that takes longer this many times in a row does other work.
constexpr int kMaxLongAbsences = 4;

// A run of rows of a batch that are consecutive in a file.
struct Run {
  std::size_t first_row = 0;  // in the batch
  FilePosition begin, end;
};

// A batch whose rows are still arriving.
struct PendingBatch {
  PendingBatch(BatchDecoder& decoder, std::size_t size) : builder(decoder, size, {}) {}

  BatchBuilder builder;
  // Guarded by the mutex of the State.
  std::size_t rows = 0;  // decoded so far
  std::vector<Run> runs;
  std::size_t held_bytes = 0;
  std::optional<DecodedBatch> whole;
};

// A block, and how far it is decoded.
struct BlockProgress {
  Block block;
  std::uint64_t row;      // next row of the stream
  std::size_t event = 0;  // that contains it
  std::size_t from = 0;   // its index in the event
};

}  // namespace

struct FileBatches::State : BlockConsumer {
  State(std::vector<std::filesystem::path> paths, std::shared_ptr<BatchDecoder> chosen, std::size_t rows,
        const BlockReaderOptions& options)
      : decoder(std::move(chosen)),
        batch_rows(rows),
        // Decoded values may take several times the bytes that they were read from.
        max_held_bytes(4 * (options.threads + 1) * options.block_bytes),
        next_position(options.start),
        reader(std::move(paths), options, *this),
        is_short(reader.is_short()),
        spare_thread(options.threads > 1),
        threads(options.threads) {}

  bool take(Block block) override;
  void end(std::uint64_t number, std::exception_ptr found) override;
  bool decode(BlockProgress& progress, bool waits);
  bool decode(BlockProgress& progress, const Chunk& chunk, bool waits);
  std::shared_ptr<PendingBatch> admit(std::uint64_t batch, bool waits);
  void complete(const std::shared_ptr<PendingBatch>& pending);
  void count_done(std::uint64_t block, std::uint64_t end_row);
  bool consumer_should_read(Clock::time_point now);
  void read_on_consumer(std::unique_lock<std::mutex>& lock, Clock::time_point deadline);
  void resume_unfinished();

  // The following require the mutex.
  bool is_over() const { return done_blocks == blocks; }
  bool has_next() const { return is_whole(next_batch) || is_over(); }
  // There is always space for the batch that the consumer waits for, and the next.
  bool has_space(std::uint64_t batch) const {
    return batches.contains(batch) || batch <= next_batch + 1 || held_bytes < max_held_bytes;
  }
  bool is_whole(std::uint64_t batch) const {
    const auto found = batches.find(batch);
    return found != batches.end() && found->second && found->second->whole;
  }

  const std::shared_ptr<BatchDecoder> decoder;
  const std::size_t batch_rows;
  const std::size_t max_held_bytes;
  const ProcessId owner = current_process();

  mutable std::mutex mutex;
  std::condition_variable space;    // a batch was consumed
  std::condition_variable arrival;  // a batch is complete, or the end is known

  // Guarded by the mutex.
  std::map<std::uint64_t, std::shared_ptr<PendingBatch>> batches;  // started and not returned
  std::uint64_t next_batch = 0;                                    // to return
  std::size_t held_bytes = 0;                                      // by the batches
  std::map<std::uint64_t, std::uint64_t> done;   // blocks that are done early, with the row after each
  std::uint64_t done_blocks = 0, done_rows = 0;  // of consecutive blocks
  std::uint64_t blocks = kNoEnd;                 // in the stream
  std::exception_ptr error;                      // after the blocks
  std::optional<FaultInFile> fault;              // alternative to `error`
  std::thread::id reading_consumer;              // the consumer's thread while it reads
  bool stop = false;

  // Used by the consumer.
  FilePosition next_position;
  std::vector<Run> last_runs;
  std::optional<BlockProgress> unfinished;   // a block that it has read, but that did not fit completely
  Clock::time_point left_at = Clock::now();  // when it last got a batch
  int long_absences = 0;                     // in a row, with no batch ready

  BlockReader reader;   // declared late: its threads end before the members that they use
  const bool is_short;  // one block, read by the consumer alone
  bool spare_thread;    // not started: the consumer reads instead
  const std::size_t threads;
};

bool FileBatches::State::take(Block block) {
  bool waits;
  {
    const std::lock_guard lock(mutex);
    waits = reading_consumer != std::this_thread::get_id();
  }
  const bool is_valid =
      std::ranges::all_of(block.events, [](const Event& e) { return std::holds_alternative<Chunk>(e); });
  const std::uint64_t row = block.first_row;
  BlockProgress progress{std::move(block), row};
  if (decode(progress, waits)) return is_valid;
  if (waits) return false;
  unfinished = std::move(progress);
  return is_valid;
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

// Decodes the rest of a block; false if it is no longer needed, or does not fit and `waits` is false.
bool FileBatches::State::decode(BlockProgress& progress, bool waits) {
  for (; progress.event < progress.block.events.size(); ++progress.event, progress.from = 0) {
    const Event& event = progress.block.events[progress.event];
    if (const auto* chunk = std::get_if<Chunk>(&event)) {
      if (!decode(progress, *chunk, waits)) return false;
      continue;
    }
    const std::lock_guard lock(mutex);
    if (progress.block.number >= blocks) return true;
    blocks = progress.block.number + 1;
    error = nullptr;
    fault = {progress.block.file, std::get<Fault>(event)};
    count_done(progress.block.number, progress.row);
    return true;
  }
  const std::lock_guard lock(mutex);
  count_done(progress.block.number, progress.row);
  return true;
}

// The same for one of its chunks, batch by batch.
bool FileBatches::State::decode(BlockProgress& progress, const Chunk& chunk, bool waits) {
  while (progress.from < chunk.size()) {
    const auto row_in_batch = static_cast<std::size_t>(progress.row % batch_rows);
    const std::size_t to = std::min(chunk.size(), progress.from + batch_rows - row_in_batch);
    const std::shared_ptr<PendingBatch> pending = admit(progress.row / batch_rows, waits);
    if (!pending) return false;

    const Chunk piece = chunk.slice(progress.from, to);
    pending->builder.decode({&piece, 1}, row_in_batch);
    const std::size_t last = piece.size() - 1;
    const std::uint64_t end_offset = piece.frame_offset(last) + piece.span(last).length + kFrameOverhead;
    const Run run{row_in_batch,
                  {progress.block.file, piece.frame_offset(0), piece.first_record},
                  {progress.block.file, end_offset, piece.first_record + piece.size()}};
    bool whole;
    {
      const std::lock_guard lock(mutex);
      pending->runs.push_back(run);
      pending->rows += piece.size();
      whole = pending->rows == batch_rows;
    }
    if (whole) complete(pending);
    progress.row += piece.size();
    progress.from = to;
  }
  return true;
}

// Returns the batch when there is space for it. Returns nothing after a stop, or if there is no space and `waits` is
// false.
//
// This cannot deadlock: all rows before those of a waiting block are with threads that already have them, or are
// decoded by the consumer before it waits, so the batches before it are returned eventually.
std::shared_ptr<PendingBatch> FileBatches::State::admit(std::uint64_t batch, bool waits) {
  std::unique_lock lock(mutex);
  if (waits) space.wait(lock, [&] { return stop || has_space(batch); });
  if (stop || !has_space(batch)) return nullptr;
  std::shared_ptr<PendingBatch>& pending = batches[batch];
  if (!pending) {
    pending = std::make_shared<PendingBatch>(*decoder, batch_rows);
    pending->held_bytes = batch_rows * static_cast<std::size_t>(decoder->dense_row_bytes());
    held_bytes += pending->held_bytes;
  }
  return pending;
}

void FileBatches::State::complete(const std::shared_ptr<PendingBatch>& pending) {
  const std::size_t more = pending->builder.held_bytes();
  DecodedBatch batch = pending->builder.finish(batch_rows, run_here);
  const std::lock_guard lock(mutex);
  pending->held_bytes += more;
  held_bytes += more;
  pending->whole = std::move(batch);
  arrival.notify_one();
}

// Whether the consumer, which found no batch, reads in place of a thread that was not started. Sleeping and being woken
// for each batch, on a CPU that a thread must leave, would cost more than decoding it. A consumer that returns late
// does other work, which may need no CPU: then the thread is started, and the consumer waits from then on.
bool FileBatches::State::consumer_should_read(Clock::time_point now) {
  if (is_short || unfinished) return true;
  long_absences = now - left_at < kShortAbsence ? 0 : long_absences + 1;
  if (spare_thread && long_absences == kMaxLongAbsences) {
    spare_thread = false;
    reader.start(1);
  }
  return spare_thread;
}

// Reads like the other threads until there is something to return.
void FileBatches::State::read_on_consumer(std::unique_lock<std::mutex>& lock, Clock::time_point deadline) {
  while (!has_next() && Clock::now() < deadline) {
    // There is no space, so the missing rows are with other threads.
    if (unfinished ? !has_space(unfinished->row / batch_rows) : !is_short && held_bytes >= max_held_bytes) return;
    reading_consumer = std::this_thread::get_id();
    lock.unlock();
    const bool more = unfinished ? (resume_unfinished(), true) : reader.read_one();
    lock.lock();
    reading_consumer = {};
    if (!more) return;
  }
}

void FileBatches::State::resume_unfinished() {
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
  s.space.notify_all();
}

NextBatch FileBatches::next(std::chrono::milliseconds timeout) {
  State& s = *state_;
  if (s.owner != current_process()) throw std::logic_error("batches cannot cross a fork: open new ones in the child");
  if (!s.is_short && !s.reader.started()) s.reader.start(s.threads - (s.spare_thread ? 1 : 0));
  const Clock::time_point now = Clock::now(), deadline = now + timeout;
  std::unique_lock lock(s.mutex);
  if (!s.has_next()) {
    // Not under the lock: a thread that claims a block takes the reader's lock first, then this one.
    lock.unlock();
    const bool along = s.consumer_should_read(now);
    lock.lock();
    if (along) s.read_on_consumer(lock, deadline);
  }
  if (!s.arrival.wait_until(lock, deadline, [&] { return s.has_next(); })) return NotYet{};

  const std::uint64_t first_row = s.next_batch * s.batch_rows;
  // Rows after the end may have been decoded; they do not count.
  std::size_t rows = s.batch_rows;
  if (s.is_over()) rows = std::min<std::uint64_t>(rows, s.done_rows - std::min(s.done_rows, first_row));
  if (rows == 0) {
    if (s.error) std::rethrow_exception(s.error);
    if (!s.fault) return EndOfRecords{};
    return *std::exchange(s.fault, std::nullopt);
  }
  const std::shared_ptr<PendingBatch> pending = std::move(s.batches.extract(s.next_batch).mapped());
  ++s.next_batch;
  s.held_bytes -= pending->held_bytes;
  s.last_runs = std::exchange(pending->runs, {});
  lock.unlock();
  s.space.notify_all();

  std::erase_if(s.last_runs, [&](const Run& run) { return run.first_row >= rows; });
  std::ranges::sort(s.last_runs, {}, &Run::first_row);
  DecodedBatch batch = pending->whole ? std::move(*pending->whole) : pending->builder.finish(rows, run_here);
  if (batch.fault.fault == ExampleFault::kNone) s.next_position = s.last_runs.back().end;
  s.left_at = Clock::now();
  return batch;
}

FilePosition FileBatches::position() const { return state_->next_position; }

FilePosition FileBatches::position_of(std::size_t row) const {
  const std::vector<Run>& runs = state_->last_runs;
  auto run = std::ranges::upper_bound(runs, row, {}, &Run::first_row);
  if (run == runs.begin()) throw std::logic_error("no batch was given");
  --run;
  return {run->begin.file, run->begin.offset, run->begin.record + row - run->first_row};
}

}  // namespace penstock
