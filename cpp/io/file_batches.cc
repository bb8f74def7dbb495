#include "io/file_batches.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
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

// Drops the rows of a batch from `rows` on.
void cut(DecodedBatch& batch, std::size_t rows, const DecodePlan& plan) {
  const auto number = [](const SharedBuffer& offsets, std::uint64_t i) {
    return static_cast<std::uint64_t>(reinterpret_cast<const std::int64_t*>(offsets->data())[i]);
  };
  batch.rows = rows;
  for (std::size_t f = 0; f < batch.columns.size(); ++f) {
    DecodedColumn& column = batch.columns[f];
    column.items = column.offsets ? number(column.offsets, rows) : rows;
    if (!plan.features[f].sequence() || !plan.features[f].ragged) continue;
    column.steps = column.items;
    column.items = number(column.step_offsets, column.steps);
  }
}

// A batch whose rows are still arriving.
class PendingBatch {
 public:
  // The first thread with rows of the batch builds it, without the lock that all threads share.
  BatchBuilder& builder(BatchDecoder& decoder, std::size_t size) {
    std::call_once(once_, [&] { builder_.emplace(decoder, size, Outputs{}, std::move(memory)); });
    return *builder_;
  }
  BatchBuilder& builder() { return *builder_; }

  // Guarded by the mutex of the State.
  BatchMemory memory;
  std::size_t rows = 0;  // decoded so far
  std::vector<Run> runs;
  std::size_t held_bytes = 0;
  std::uint64_t last_block = 0;  // with rows of it, so far
  bool is_finishing = false;     // all rows are decoded
  std::optional<DecodedBatch> whole;

 private:
  std::once_flag once_;
  std::optional<BatchBuilder> builder_;
};

using SharedBatch = std::shared_ptr<PendingBatch>;

// Rows of a chunk that belong to one batch.
struct Piece {
  SharedBatch batch;
  Chunk chunk;
  std::size_t row;  // in the batch
};

// A whole batch that the consumer has taken and not returned.
struct TakenBatch {
  DecodedBatch batch;
  std::vector<Run> runs;
  std::size_t held_bytes;
};

// A block, and how far it is decoded.
struct BlockProgress {
  Block block;
  std::uint64_t row;      // next row of the stream
  std::size_t event = 0;  // that contains it
  std::size_t from = 0;   // its index in the event
};

// Small batches share memory of about this size. A batch that is kept keeps as much.
constexpr std::size_t kSharedMemory = std::size_t{512} << 10;
// Batches up to this size do.
constexpr std::size_t kSmallBatch = std::size_t{128} << 10;

// The consumer takes at most this many batches at once.
constexpr std::size_t kMostTaken = 64;

}  // namespace

struct FileBatches::State : BlockConsumer {
  State(std::vector<std::filesystem::path> paths, std::shared_ptr<BatchDecoder> chosen, std::size_t rows,
        const BlockReaderOptions& options)
      : decoder(std::move(chosen)),
        batch_rows(rows),
        batch_bytes(decoder->dense_bytes(rows)),
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
  void decode_pieces(std::vector<Piece>& pieces);
  bool fill(std::chrono::milliseconds timeout);
  TakenBatch pop();
  void release(std::size_t bytes);
  bool consumer_should_read(Clock::time_point now);
  void read_on_consumer(std::unique_lock<std::mutex>& lock, Clock::time_point deadline);
  void resume_unfinished();

  // The following require the mutex.
  std::vector<Piece> admit(BlockProgress& progress);
  SharedBatch find_or_start(std::uint64_t batch);
  BatchMemory take_memory();
  std::vector<SharedBatch> record(std::vector<Piece>& pieces, const Block& block);
  void end_at_fault(const BlockProgress& progress);
  void count_done(std::uint64_t block, std::uint64_t end_row);
  TakenBatch extract_next(std::size_t rows);
  bool is_over() const { return done_blocks == blocks; }
  // Whether a batch is whole, and no earlier block can end the stream before its last row.
  bool is_ready(std::uint64_t batch) const {
    const auto found = batches.find(batch);
    return found != batches.end() && found->second->whole && found->second->last_block <= done_blocks;
  }
  bool has_next() const {
    if (is_ready(next_batch)) return true;
    const auto found = batches.find(next_batch);
    return is_over() && (found == batches.end() || !found->second->is_finishing || found->second->whole);
  }
  void wake_consumer() {
    if (consumer_waits && has_next()) arrival.notify_one();
  }
  // There is always space for the batch that the consumer waits for, and the next.
  bool has_space(std::uint64_t batch) const {
    return batches.contains(batch) || batch <= next_batch + 1 || held_bytes < max_held_bytes;
  }

  const std::shared_ptr<BatchDecoder> decoder;
  const std::size_t batch_rows;
  const std::size_t batch_bytes;  // in memory that small batches share
  const std::size_t max_held_bytes;
  const ProcessId owner = current_process();

  mutable std::mutex mutex;
  std::condition_variable space;    // batches were returned
  std::condition_variable arrival;  // a batch is ready, or the end is known

  // Guarded by the mutex.
  std::map<std::uint64_t, SharedBatch> batches;  // started and not taken
  std::uint64_t next_batch = 0;                  // to take
  BatchMemory memory;                            // for the next small batches
  std::multiset<std::uint64_t> waiting;          // batches that threads wait to start
  std::map<std::uint64_t, std::uint64_t> done;   // blocks that are done early, with the row after each
  std::uint64_t done_blocks = 0, done_rows = 0;  // of consecutive blocks
  std::uint64_t blocks = kNoEnd;                 // in the stream
  std::exception_ptr error;                      // after the blocks
  std::optional<FaultInFile> fault;              // alternative to `error`
  bool consumer_waits = false;
  bool stop = false;

  // Changed also by the consumer, without the mutex.
  std::atomic<std::size_t> held_bytes = 0;        // by the batches, until they are returned
  std::atomic<bool> any_waiting = false;          // threads, for space
  std::atomic<std::thread::id> reading_consumer;  // the consumer's thread while it reads

  // Used by the consumer.
  std::deque<TakenBatch> taken;
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
  const bool waits = reading_consumer.load(std::memory_order_relaxed) != std::this_thread::get_id();
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
  wake_consumer();
}

void FileBatches::State::count_done(std::uint64_t block, std::uint64_t end_row) {
  done.emplace(block, end_row);
  for (auto it = done.begin(); it != done.end() && it->first == done_blocks && !is_over(); it = done.erase(it)) {
    ++done_blocks;
    done_rows = it->second;
  }
}

// Decodes the rest of a block; false if it is no longer needed, or does not fit and `waits` is false.
//
// The mutex is locked a few times per block, however many batches it has: to start them, to count their rows, and to
// add those that are whole.
//
// This cannot deadlock: all rows before those of a waiting block are with threads that already have them, or are
// decoded by the consumer before it waits, so the batches before it are returned eventually.
bool FileBatches::State::decode(BlockProgress& progress, bool waits) {
  std::unique_lock lock(mutex);
  for (;;) {
    if (stop) return false;
    std::vector<Piece> pieces = admit(progress);
    if (pieces.empty()) {
      const bool is_rest = progress.event < progress.block.events.size();
      if (is_rest && std::holds_alternative<Chunk>(progress.block.events[progress.event])) {
        if (!waits) return false;
        const auto place = waiting.insert(progress.row / batch_rows);
        any_waiting = true;
        space.wait(lock, [&] { return stop || has_space(*place); });
        waiting.erase(place);
        any_waiting = !waiting.empty();
        continue;
      }
      if (is_rest) {
        if (progress.block.number >= blocks) return true;
        end_at_fault(progress);
      }
      count_done(progress.block.number, progress.row);
      wake_consumer();
      return true;
    }
    lock.unlock();
    decode_pieces(pieces);
    lock.lock();
    std::vector<SharedBatch> decoded = record(pieces, progress.block);
    if (decoded.empty()) continue;
    lock.unlock();
    std::vector<DecodedBatch> whole;
    std::vector<std::size_t> bytes;
    for (const SharedBatch& batch : decoded) {
      bytes.push_back(batch->builder().held_bytes());
      whole.push_back(batch->builder().finish(batch_rows, run_here));
    }
    lock.lock();
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      decoded[i]->held_bytes += bytes[i];
      held_bytes += bytes[i];
      decoded[i]->whole = std::move(whole[i]);
    }
    wake_consumer();
  }
}

void FileBatches::State::decode_pieces(std::vector<Piece>& pieces) {
  const BatchDecoder::BorrowedWorker worker(*decoder);
  for (const Piece& piece : pieces)
    piece.batch->builder(*decoder, batch_rows).decode({&piece.chunk, 1}, piece.row, *worker);
}

// Returns the next rows of a block, up to the first ones that are not in its successive chunks, or for which there is
// no space.
std::vector<Piece> FileBatches::State::admit(BlockProgress& progress) {
  std::vector<Piece> pieces;
  for (; progress.event < progress.block.events.size(); ++progress.event, progress.from = 0) {
    const auto* chunk = std::get_if<Chunk>(&progress.block.events[progress.event]);
    if (chunk == nullptr) break;
    while (progress.from < chunk->size()) {
      SharedBatch batch = find_or_start(progress.row / batch_rows);
      if (!batch) return pieces;
      const auto row = static_cast<std::size_t>(progress.row % batch_rows);
      const std::size_t to = std::min(chunk->size(), progress.from + batch_rows - row);
      pieces.push_back({std::move(batch), chunk->slice(progress.from, to), row});
      progress.row += to - progress.from;
      progress.from = to;
    }
  }
  return pieces;
}

// Returns a batch, or nothing if there is no space for it.
SharedBatch FileBatches::State::find_or_start(std::uint64_t batch) {
  if (!has_space(batch)) return nullptr;
  SharedBatch& pending = batches[batch];
  if (!pending) {
    pending = std::make_shared<PendingBatch>();
    pending->memory = take_memory();
    pending->held_bytes = batch_rows * static_cast<std::size_t>(decoder->dense_row_bytes());
    held_bytes += pending->held_bytes;
  }
  return pending;
}

BatchMemory FileBatches::State::take_memory() {
  if (batch_bytes == 0 || batch_bytes > kSmallBatch) return {};
  if (!memory.buffer || memory.buffer->capacity() - memory.offset < batch_bytes)
    memory = {acquire_buffer(kSharedMemory / batch_bytes * batch_bytes), 0};
  BatchMemory taken = memory;
  memory.offset += batch_bytes;
  return taken;
}

// Counts rows as decoded; returns the batches that have all of theirs.
std::vector<SharedBatch> FileBatches::State::record(std::vector<Piece>& pieces, const Block& block) {
  std::vector<SharedBatch> decoded;
  for (Piece& piece : pieces) {
    const Chunk& chunk = piece.chunk;
    const std::size_t last = chunk.size() - 1;
    const std::uint64_t end_offset = chunk.frame_offset(last) + chunk.span(last).length + kFrameOverhead;
    PendingBatch& batch = *piece.batch;
    batch.runs.push_back({piece.row,
                          {block.file, chunk.frame_offset(0), chunk.first_record},
                          {block.file, end_offset, chunk.first_record + chunk.size()}});
    batch.rows += chunk.size();
    batch.last_block = std::max(batch.last_block, block.number);
    if (batch.rows != batch_rows) continue;
    batch.is_finishing = true;
    decoded.push_back(std::move(piece.batch));
  }
  return decoded;
}

void FileBatches::State::end_at_fault(const BlockProgress& progress) {
  blocks = progress.block.number + 1;
  error = nullptr;
  fault = {progress.block.file, std::get<Fault>(progress.block.events[progress.event])};
}

// Takes the next batches, as many as are ready; false after `timeout`. At the end of the stream, there may be none.
bool FileBatches::State::fill(std::chrono::milliseconds timeout) {
  const Clock::time_point now = Clock::now(), deadline = now + timeout;
  std::unique_lock lock(mutex);
  if (!has_next()) {
    // Not under the lock: a thread that claims a block takes the reader's lock first, then this one.
    lock.unlock();
    const bool along = consumer_should_read(now);
    lock.lock();
    if (along) read_on_consumer(lock, deadline);
  }
  consumer_waits = true;
  const bool found = arrival.wait_until(lock, deadline, [&] { return has_next(); });
  consumer_waits = false;
  if (!found) return false;

  while (is_ready(next_batch) && taken.size() < kMostTaken) taken.push_back(extract_next(batch_rows));
  if (taken.empty()) {
    // The last rows. Rows after the end may have been decoded; they do not count.
    const std::uint64_t first_row = next_batch * batch_rows;
    const std::size_t rows = std::min<std::uint64_t>(batch_rows, done_rows - std::min(done_rows, first_row));
    if (rows != 0) taken.push_back(extract_next(rows));
  }
  if (!waiting.empty() && *waiting.begin() <= next_batch + 1) space.notify_all();
  return true;
}

TakenBatch FileBatches::State::extract_next(std::size_t rows) {
  const SharedBatch pending = std::move(batches.extract(next_batch++).mapped());
  std::vector<Run>& runs = pending->runs;
  std::erase_if(runs, [&](const Run& run) { return run.first_row >= rows; });
  std::ranges::sort(runs, {}, &Run::first_row);
  std::optional<DecodedBatch>& whole = pending->whole;
  const bool is_usable = whole && (rows == batch_rows || whole->fault.fault == ExampleFault::kNone);
  DecodedBatch batch = is_usable ? std::move(*whole) : pending->builder().finish(rows, run_here);
  if (rows < batch.rows) cut(batch, rows, decoder->plan());
  return {std::move(batch), std::move(runs), pending->held_bytes};
}

TakenBatch FileBatches::State::pop() {
  TakenBatch next = std::move(taken.front());
  taken.pop_front();
  release(next.held_bytes);
  return next;
}

// Frees the space of a batch. Threads that wait for space wake up together, once there is enough for all.
void FileBatches::State::release(std::size_t bytes) {
  held_bytes -= bytes;
  if (!any_waiting || held_bytes > max_held_bytes / 2) return;
  const std::lock_guard lock(mutex);
  space.notify_all();
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
    reading_consumer = std::thread::id();
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
  if (s.taken.empty() && !s.fill(timeout)) return NotYet{};
  if (s.taken.empty()) {
    if (s.error) std::rethrow_exception(s.error);
    if (!s.fault) return EndOfRecords{};
    return *std::exchange(s.fault, std::nullopt);
  }
  TakenBatch next = s.pop();
  s.last_runs = std::move(next.runs);
  if (next.batch.fault.fault == ExampleFault::kNone) s.next_position = s.last_runs.back().end;
  if (s.taken.empty()) s.left_at = Clock::now();
  return std::move(next.batch);
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
