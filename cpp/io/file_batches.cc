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
#include "io/started_batches.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

// A consumer that returns within this time does little but ask for batches.
constexpr std::chrono::microseconds kShortAbsence{150};
// One that takes longer this many times in a row does other work.
constexpr int kMaxLongAbsences = 4;

// The consumer takes at most this many batches at once.
constexpr std::size_t kMostTaken = 64;

}  // namespace

struct FileBatches::State : BlockConsumer {
  State(std::vector<std::filesystem::path> paths, std::shared_ptr<BatchDecoder> chosen, std::size_t rows,
        const BlockReaderOptions& options)
      : decoder(std::move(chosen)),
        batch_rows(rows),
        // Decoded values may take several times the bytes that they were read from.
        max_held_bytes(4 * (options.threads + 1) * options.block_bytes),
        batches(decoder, rows, max_held_bytes),
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
  void end_at_fault(const BlockProgress& progress);
  void count_done(std::uint64_t block, std::uint64_t end_row);
  bool is_over() const { return done_blocks == blocks; }
  bool has_next() const { return batches.is_ready(done_blocks) || (is_over() && !batches.is_finishing()); }
  void wake_consumer() {
    if (consumer_waits && has_next()) arrival.notify_one();
  }

  const std::shared_ptr<BatchDecoder> decoder;
  const std::size_t batch_rows;
  const std::size_t max_held_bytes;
  const ProcessId owner = current_process();

  mutable std::mutex mutex;
  std::condition_variable space;    // batches were returned
  std::condition_variable arrival;  // a batch is ready, or the end is known

  // Guarded by the mutex.
  StartedBatches batches;
  std::multiset<std::uint64_t> waiting;          // batches that threads wait to start
  std::map<std::uint64_t, std::uint64_t> done;   // blocks that are done early, with the row after each
  std::uint64_t done_blocks = 0, done_rows = 0;  // of consecutive blocks
  std::uint64_t blocks = kNoEnd;                 // in the stream
  std::exception_ptr error;                      // after the blocks
  std::optional<FaultInFile> fault;              // alternative to `error`
  bool consumer_waits = false;
  bool stop = false;

  // Read without the mutex.
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
    std::vector<Piece> pieces = batches.admit(progress);
    if (pieces.empty()) {
      const bool is_rest = progress.event < progress.block.events.size();
      if (is_rest && std::holds_alternative<Chunk>(progress.block.events[progress.event])) {
        if (!waits) return false;
        const auto place = waiting.insert(progress.row / batch_rows);
        any_waiting = true;
        space.wait(lock, [&] { return stop || batches.has_space(*place); });
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
    std::vector<SharedBatch> decoded = batches.record(pieces, progress.block);
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
      batches.held_bytes += bytes[i];
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

  while (batches.is_ready(done_blocks) && taken.size() < kMostTaken) taken.push_back(batches.take(batch_rows));
  if (taken.empty()) {
    // The last rows. Rows after the end may have been decoded; they do not count.
    const std::uint64_t first_row = batches.next() * batch_rows;
    const std::size_t rows = std::min<std::uint64_t>(batch_rows, done_rows - std::min(done_rows, first_row));
    if (rows != 0) taken.push_back(batches.take(rows));
  }
  if (!waiting.empty() && *waiting.begin() <= batches.next() + 1) space.notify_all();
  return true;
}

TakenBatch FileBatches::State::pop() {
  TakenBatch next = std::move(taken.front());
  taken.pop_front();
  release(next.held_bytes);
  return next;
}

// Frees the space of a batch. Threads that wait for space wake up together, once there is enough for all.
void FileBatches::State::release(std::size_t bytes) {
  batches.held_bytes -= bytes;
  if (!any_waiting || batches.held_bytes > max_held_bytes / 2) return;
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
    if (unfinished ? !batches.has_space(unfinished->row / batch_rows)
                   : !is_short && batches.held_bytes >= max_held_bytes)
      return;
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
