#include "io/block_reader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "core/inflate/gzip_member.h"
#include "io/file.h"
#include "io/turnstile.h"

namespace penstock {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// A larger member is inflated as a stream, so that memory stays bounded.
constexpr std::size_t kMostMemberBytes = std::size_t{16} << 20;

struct InputFile {
  InputFile(const std::filesystem::path& path, std::size_t number, FilePosition start)
      : file(path),
        index(number),
        start_offset(number == start.file ? start.offset : 0),
        start_record(number == start.file ? start.record : 0),
        size(std::max(file.size(), start_offset)),
        name(std::make_shared<const std::string>(text_of(path))) {}

  const File file;
  const std::size_t index;
  const std::uint64_t start_offset, start_record;
  const std::uint64_t size;
  const std::shared_ptr<const std::string> name;
};

// Whether a file of members has none.
bool is_without_records(const InputFile& input) {
  std::array<std::byte, 20> whole;
  return input.size == whole.size() && input.file.read_at(whole.data(), whole.size(), 0) == whole.size() &&
         inflate::is_empty_member(whole);
}

// A block to read.
struct Task {
  std::uint64_t number;
  std::shared_ptr<const InputFile> file;
  std::uint64_t offset;
  std::size_t size;
  std::array<inflate::SizedMember, 2> members{};  // that it consists of, in a file of members

  bool begins_file() const { return offset == file->start_offset; }
  bool ends_file() const { return offset + size == file->size; }
};

}  // namespace

struct BlockReader::State {
  State(std::vector<std::filesystem::path> files, const BlockReaderOptions& chosen, BlockConsumer& user)
      : paths(std::move(files)),
        options(chosen),
        consumer(user),
        alone(options.threads == 1 && !options.members),
        headroom(options.block_bytes / 4),
        usual_records(options.block_bytes / 1024 + 1) {
    next_file = options.start.file;
    if (options.rows != 0) open_next();
  }

  bool read_one();
  std::optional<Task> claim();
  bool open_next();
  Task claim_members() const;
  bool process(const Task& task);
  bool process_members(const Task& task);
  void read(const Task& task, std::byte* out, std::size_t size, std::uint64_t offset) const;
  void scan(const Task& task, const SharedBuffer& buffer, std::size_t begin, std::size_t end,
            std::vector<Event>& found);
  BlockScan walk(const Task& task, const Buffer& buffer) const;
  std::size_t join(const SharedBuffer& buffer, std::size_t begin, std::size_t end, const BlockScan& scanned,
                   std::vector<Event>& found);
  void start_file(const Task& task);
  bool ends_stream(std::vector<Event>& events);
  void check(std::vector<Event>& found, std::span<const std::size_t> scanned_events, std::vector<Event>& checked) const;
  void end_at(std::uint64_t blocks, const std::exception_ptr& error) {
    turnstile.close_at(blocks);
    consumer.end(blocks, error);
  }

  const std::vector<std::filesystem::path> paths;
  const BlockReaderOptions options;
  BlockConsumer& consumer;
  const bool alone;  // one thread reads all blocks
  const std::size_t headroom;
  std::vector<std::thread> threads;
  std::atomic<std::size_t> usual_records;  // per block

  std::mutex claim_mutex;  // guards the following members
  std::size_t next_file;
  std::shared_ptr<const InputFile> file;  // of the next block, if any
  std::uint64_t next_offset = 0;
  std::uint64_t next_block = 0;

  Turnstile turnstile;  // guards the following members
  std::optional<ChunkAssembler> assembler;
  std::uint64_t rows = 0;
};

// Opens the next file that is not empty; false if there is none.
bool BlockReader::State::open_next() {
  for (file.reset(); next_file < paths.size(); ++next_file) {
    try {
      file = std::make_shared<const InputFile>(paths[next_file], next_file, options.start);
    } catch (const std::system_error& error) {
      throw FileError(error, text_of(paths[next_file]));
    }
    next_offset = file->start_offset;
    if (next_offset == file->size || (options.members && is_without_records(*file))) continue;
    ++next_file;
    return true;
  }
  file.reset();
  return false;
}

// Returns the next two members, or the last one.
Task BlockReader::State::claim_members() const {
  Task task{next_block, file, next_offset, 0};
  for (inflate::SizedMember& member : task.members) {
    std::array<std::byte, inflate::SizedMember::kHeaderBytes> head;
    const std::uint64_t offset = task.offset + task.size;
    if (offset == file->size) break;
    const std::size_t read = file->file.read_at(head.data(), head.size(), offset);
    const auto found = inflate::sized_member(std::span(head).first(read), kMostMemberBytes);
    if (!found || found->size > file->size - offset) {
      if (task.size != 0) break;  // what comes before it is good
      throw NotMembers();
    }
    member = *found;
    task.size += found->size;
  }
  return task;
}

std::optional<Task> BlockReader::State::claim() {
  const std::lock_guard lock(claim_mutex);
  if (!turnstile.open_for(next_block)) return std::nullopt;
  try {
    if (!file || (next_offset == file->size && !open_next())) {
      end_at(next_block, nullptr);
      return std::nullopt;
    }
    if (options.members) {
      Task task = claim_members();
      next_offset += task.size;
      ++next_block;
      return task;
    }
  } catch (...) {
    end_at(next_block, std::current_exception());
    return std::nullopt;
  }
  // Blocks end at multiples of their size, wherever the first one starts: some CPUs copy several times slower if the
  // target's offset within its page is slightly above the source's.
  const std::uint64_t to_multiple = options.block_bytes - next_offset % options.block_bytes;
  const auto size = static_cast<std::size_t>(std::min(to_multiple, file->size - next_offset));
  const Task task{next_block++, file, next_offset, size};
  next_offset += size;
  return task;
}

bool BlockReader::State::read_one() {
  const std::optional<Task> task = claim();
  if (!task) return false;
  try {
    if (!(options.members ? process_members(*task) : process(*task))) end_at(task->number + 1, nullptr);
  } catch (...) {
    end_at(task->number, std::current_exception());
  }
  return true;
}

// Returns whether the stream continues after this block.
bool BlockReader::State::process(const Task& task) {
  const SharedBuffer buffer = acquire_buffer(headroom + options.block_bytes);
  Block block{task.number, task.file->index, 0, {}};
  bool last = false;
  if (alone) {
    // A single thread scans and verifies each slice while it is in the nearest cache.
    block.first_row = rows;
    for (std::size_t at = 0; at < task.size && !(at != 0 && assembler->failed()); at += options.slice_bytes) {
      const std::size_t size = std::min(options.slice_bytes, task.size - at);
      read(task, buffer->data() + headroom + at, size, task.offset + at);
      scan(task, buffer, headroom + at, headroom + at + size, block.events);
    }
    last = ends_stream(block.events);
  } else {
    read(task, buffer->data() + headroom, task.size, task.offset);
    const BlockScan scanned = walk(task, *buffer);
    if (!turnstile.enter(task.number)) return true;
    block.first_row = rows;
    std::vector<Event> found;
    if (task.begins_file()) start_file(task);
    const std::uint64_t first_record = assembler->record();
    const std::size_t scanned_event = join(buffer, headroom, headroom + task.size, scanned, found);
    if (task.ends_file())
      assembler->finish(found);
    else
      usual_records = static_cast<std::size_t>(assembler->record() - first_record);
    last = ends_stream(found);
    DeferredCopy copy = assembler->take_copy();
    if (last) turnstile.close_at(task.number + 1);
    turnstile.leave();
    copy.run();
    check(found, {&scanned_event, 1}, block.events);
  }
  return consumer.take(std::move(block)) && !last;
}

// The same for members, which usually begin and end with a record.
bool BlockReader::State::process_members(const Task& task) {
  std::array<std::optional<inflate::Piece>, 2> pieces;
  {
    const SharedBuffer deflated = acquire_buffer(task.size);
    read(task, deflated->data(), task.size, task.offset);
    std::array<std::span<const std::byte>, 2> bodies;
    std::size_t at = 0;
    for (std::size_t i = 0; i < bodies.size() && task.members[i].size != 0; ++i) {
      bodies[i] = {deflated->data() + at + inflate::SizedMember::kHeaderBytes, task.members[i].body_size()};
      at += task.members[i].size;
    }
    pieces = inflate::inflate_members(bodies, kMostMemberBytes);
  }
  std::array<BlockScan, 2> scanned;
  for (std::size_t i = 0; i < pieces.size() && task.members[i].size != 0; ++i) {
    if (!pieces[i]) throw NotMembers();
    const inflate::Piece& piece = *pieces[i];
    const std::size_t most_records = (piece.end - piece.begin) / kFrameOverhead;  // a header may state any number
    scanned[i] = scan_block(
        piece.buffer->data(), piece.begin, piece.end,
        {options.max_record_bytes, options.verify, true, std::min<std::size_t>(task.members[i].records, most_records)});
  }
  if (!turnstile.enter(task.number)) return true;
  Block block{task.number, task.file->index, rows, {}};
  if (task.begins_file()) start_file(task);
  std::vector<Event> found;
  std::array<std::size_t, 2> scanned_events{kNone, kNone};
  std::array<DeferredCopy, 2> copies;
  for (std::size_t i = 0; i < pieces.size() && pieces[i]; ++i) {
    scanned_events[i] = join(pieces[i]->buffer, pieces[i]->begin, pieces[i]->end, scanned[i], found);
    copies[i] = assembler->take_copy();
  }
  if (task.ends_file()) assembler->finish(found);
  const bool last = ends_stream(found);
  if (last) turnstile.close_at(task.number + 1);
  turnstile.leave();
  for (DeferredCopy& copy : copies) copy.run();
  check(found, scanned_events, block.events);
  for (const Event& event : block.events)
    if (std::holds_alternative<Fault>(event)) throw NotMembers();
  return consumer.take(std::move(block)) && !last;
}

void BlockReader::State::read(const Task& task, std::byte* out, std::size_t size, std::uint64_t offset) const {
  try {
    if (task.file->file.read_at(out, size, offset) != size)
      throw std::system_error(std::make_error_code(std::errc::io_error), "the file became shorter while it was read");
  } catch (const std::system_error& error) {
    throw FileError(error, *task.file->name);
  }
}

void BlockReader::State::scan(const Task& task, const SharedBuffer& buffer, std::size_t begin, std::size_t end,
                              std::vector<Event>& found) {
  if (task.begins_file() && begin == headroom) start_file(task);
  assembler->add(buffer, begin, end, found);
  if (task.ends_file() && end == headroom + task.size) assembler->finish(found);
}

void BlockReader::State::start_file(const Task& task) {
  const std::optional<std::uint64_t> end = options.members ? std::nullopt : std::optional(task.file->size);
  assembler.emplace(ChunkAssemblerOptions{options.max_record_bytes, end, task.file->start_offset,
                                          task.file->start_record, task.file->name, options.verify && alone, !alone});
}

BlockScan BlockReader::State::walk(const Task& task, const Buffer& buffer) const {
  const std::size_t expected_records = usual_records;
  if (expected_records * BlockScan::kLongRecord < options.block_bytes) return {};
  return scan_block(buffer.data(), headroom, headroom + task.size,
                    {options.max_record_bytes, options.verify, task.begins_file(), expected_records});
}

// Appends the events of the bytes [begin, end) of a buffer; returns the index of the one with the frames that were
// scanned and verified ahead.
std::size_t BlockReader::State::join(const SharedBuffer& buffer, std::size_t begin, std::size_t end,
                                     const BlockScan& scanned, std::vector<Event>& found) {
  std::size_t rest = begin, scanned_event = kNone;
  if (!scanned.is_empty()) {
    assembler->add(buffer, begin, scanned.begin, found);
    rest = scanned.begin;
    if (assembler->add_scanned(buffer, scanned, found)) {
      rest = scanned.end;
      scanned_event = found.size() - 1;
    }
  }
  assembler->add(buffer, rest, end, found);
  return scanned_event;
}

// Counts the rows of a block and drops those after the last requested one; returns whether the stream ends with it.
bool BlockReader::State::ends_stream(std::vector<Event>& events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto* chunk = std::get_if<Chunk>(&events[i]);
    if (!chunk) continue;
    const std::uint64_t left = options.rows - rows;
    if (chunk->size() >= left) {
      *chunk = chunk->slice(0, static_cast<std::size_t>(left));
      events.resize(i + 1);
      rows = options.rows;
      return true;
    }
    rows += chunk->size();
  }
  return assembler->failed();
}

void BlockReader::State::check(std::vector<Event>& found, std::span<const std::size_t> scanned_events,
                               std::vector<Event>& checked) const {
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (options.verify && std::ranges::find(scanned_events, i) == scanned_events.end())
      verify(found[i], checked);
    else
      append(std::move(found[i]), checked);
  }
}

BlockReader::BlockReader(std::vector<std::filesystem::path> paths, const BlockReaderOptions& options,
                         BlockConsumer& consumer)
    : state_(std::make_unique<State>(std::move(paths), options, consumer)) {}

BlockReader::~BlockReader() {
  state_->turnstile.close_at(0);
  for (std::thread& thread : state_->threads) thread.join();
}

void BlockReader::start(std::size_t count) {
  State& s = *state_;
  std::uint64_t most = count;
  {
    const std::lock_guard lock(s.claim_mutex);
    // Small files are common: start no more threads than the last file has blocks.
    if (s.next_file == s.paths.size() && s.file && !s.options.members)
      most = std::min(most, (s.file->size - s.next_offset + s.options.block_bytes - 1) / s.options.block_bytes);
  }
  for (std::uint64_t i = 0; i < most; ++i) {
    s.threads.emplace_back([&s] {
      while (s.read_one()) {
      }
    });
  }
}

bool BlockReader::started() const { return !state_->threads.empty(); }

bool BlockReader::read_one() { return state_->read_one(); }

bool BlockReader::is_short() const {
  const State& s = *state_;
  if (s.options.members) return s.next_file == s.paths.size() && !s.file;
  return s.next_file == s.paths.size() && (!s.file || s.file->size - s.next_offset <= s.options.block_bytes);
}

}  // namespace penstock
