#include "io/file_records.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "io/file.h"
#include "io/process.h"

namespace penstock {
namespace {

// What the second-level cache of most CPUs holds.
constexpr std::size_t kSliceBytes = std::size_t{256} << 10;

AssemblerOptions assembler_options(const std::filesystem::path& path, const FileRecordsOptions& options,
                                   std::uint64_t file_size) {
  return {options.max_record_bytes, file_size, options.start_offset, options.start_record,
          std::make_shared<const std::string>(text_of(path))};
}

}  // namespace

struct FileRecords::State {
  State(const std::filesystem::path& path, const FileRecordsOptions& chosen)
      : options(chosen),
        file(path),
        file_size(std::max(file.size(), options.start_offset)),
        blocks((file_size - options.start_offset + options.block_bytes - 1) / options.block_bytes),
        head_room(options.block_bytes / 4),
        window(options.threads + 2),
        assembler(assembler_options(path, options, file_size)) {}

  void work();
  void process(std::uint64_t block);
  void read(std::byte* out, std::size_t size, std::uint64_t offset) const;
  void scan(std::uint64_t block, const SharedBuffer& buffer, std::size_t begin, std::size_t end, bool ends_block,
            std::vector<Event>& found);
  void check(std::vector<Event>& found, std::vector<Event>& checked) const;

  const FileRecordsOptions options;
  const File file;
  const std::uint64_t file_size;
  const std::uint64_t blocks;
  const std::size_t head_room;
  const std::size_t window;
  const ProcessId owner = current_process();

  std::mutex mutex;
  std::condition_variable room;     // a block was consumed
  std::condition_variable turn;     // a block passed the assembler
  std::condition_variable arrival;  // a block's events are there

  // Guarded by the mutex.
  std::uint64_t next_block = 0;      // to be read
  std::uint64_t next_turn = 0;       // to pass the assembler
  std::uint64_t next_delivered = 0;  // to be consumed
  std::map<std::uint64_t, std::vector<Event>> results;
  std::exception_ptr error;  // what a thread met at error_block; the blocks before it are still delivered
  std::uint64_t error_block = std::numeric_limits<std::uint64_t>::max();
  bool stop = false;

  Assembler assembler;       // used by the thread whose turn it is
  std::deque<Event> events;  // used by the consumer
  std::vector<std::thread> threads;
};

void FileRecords::State::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    room.wait(lock, [&] { return stop || next_block == blocks || error || next_block < next_delivered + window; });
    if (stop || next_block == blocks || error) return;
    const std::uint64_t block = next_block++;
    lock.unlock();
    std::exception_ptr failure;
    try {
      process(block);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure) {
      if (block < error_block) {
        error = failure;
        error_block = block;
      }
      room.notify_all();
      turn.notify_all();
      arrival.notify_all();
      return;
    }
  }
}

void FileRecords::State::process(std::uint64_t block) {
  const std::uint64_t offset = options.start_offset + block * options.block_bytes;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(options.block_bytes, file_size - offset));
  const SharedBuffer buffer = acquire_buffer(head_room + options.block_bytes);
  std::vector<Event> checked;
  if (options.threads == 1) {
    // Alone, there is nobody to wait for: a slice is scanned and verified while it is in the nearest cache.
    for (std::size_t at = 0; at < size; at += kSliceBytes) {
      const std::size_t slice = std::min(kSliceBytes, size - at);
      read(buffer->data() + head_room + at, slice, offset + at);
      std::vector<Event> found;
      scan(block, buffer, head_room + at, head_room + at + slice, at + slice == size, found);
      check(found, checked);
    }
  } else {
    read(buffer->data() + head_room, size, offset);
    {
      std::unique_lock lock(mutex);
      turn.wait(lock, [&] { return stop || next_turn == block || error_block < block; });
      if (stop || error_block < block) return;
    }
    std::vector<Event> found;
    scan(block, buffer, head_room, head_room + size, true, found);
    {
      const std::lock_guard lock(mutex);
      ++next_turn;
    }
    turn.notify_all();
    check(found, checked);
  }
  {
    const std::lock_guard lock(mutex);
    results.emplace(block, std::move(checked));
  }
  arrival.notify_all();
}

void FileRecords::State::read(std::byte* out, std::size_t size, std::uint64_t offset) const {
  if (file.read_at(out, size, offset) != size)
    throw std::system_error(std::make_error_code(std::errc::io_error), "the file became shorter while it was read");
}

void FileRecords::State::scan(std::uint64_t block, const SharedBuffer& buffer, std::size_t begin, std::size_t end,
                              bool ends_block, std::vector<Event>& found) {
  assembler.add(buffer, begin, end, found);
  if (ends_block && block + 1 == blocks) assembler.finish(found);
}

void FileRecords::State::check(std::vector<Event>& found, std::vector<Event>& checked) const {
  for (Event& event : found) {
    if (options.verify)
      verify(event, checked);
    else
      checked.push_back(std::move(event));
  }
}

FileRecords::FileRecords(const std::filesystem::path& path, const FileRecordsOptions& options)
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
  s.turn.notify_all();
  for (std::thread& thread : s.threads) thread.join();
}

std::uint64_t FileRecords::file_size() const { return state_->file_size; }

NextEvent FileRecords::next(std::chrono::milliseconds patience) {
  State& s = *state_;
  if (s.owner != current_process()) throw std::logic_error("a reader cannot cross a fork: open a new one in the child");
  if (s.threads.empty()) {
    const auto count = std::min<std::uint64_t>(s.options.threads, s.blocks);
    for (std::uint64_t i = 0; i < count; ++i) s.threads.emplace_back([&s] { s.work(); });
  }
  for (;;) {
    if (!s.events.empty()) {
      Event event = std::move(s.events.front());
      s.events.pop_front();
      return std::visit([](auto& e) -> NextEvent { return std::move(e); }, event);
    }
    std::unique_lock lock(s.mutex);
    if (s.next_delivered == s.blocks) return EndOfRecords{};
    const auto ready = [&] { return s.results.contains(s.next_delivered) || s.next_delivered >= s.error_block; };
    if (!s.arrival.wait_for(lock, patience, ready)) return NotYet{};
    const auto found = s.results.find(s.next_delivered);
    if (found == s.results.end()) std::rethrow_exception(s.error);
    s.events.assign(std::make_move_iterator(found->second.begin()), std::make_move_iterator(found->second.end()));
    s.results.erase(found);
    ++s.next_delivered;
    lock.unlock();
    s.room.notify_all();
  }
}

}  // namespace penstock
