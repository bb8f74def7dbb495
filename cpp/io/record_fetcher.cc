#include "io/record_fetcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/bytes.h"
#include "core/frame.h"

namespace penstock {
namespace {

// What the second-level cache of most CPUs holds, with room for what is decoded from it.
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

// Fewer rows are read by the caller before another thread is awake.
constexpr std::size_t kRowsPerPart = 32;

bool holds(const ShardFile& file, const RecordPlace& place) {
  return file.size >= kFrameOverhead && place.length <= file.size - kFrameOverhead &&
         place.offset <= file.size - kFrameOverhead - place.length;
}

// Of a place that the file holds.
std::size_t frame_bytes(const RecordPlace& place) { return static_cast<std::size_t>(place.length) + kFrameOverhead; }

std::size_t read(const ShardFile& file, std::byte* out, std::size_t size, std::uint64_t offset) {
  try {
    return file.file.read_at(out, size, offset);
  } catch (const std::system_error& error) {
    throw FileError(error, *file.name);
  }
}

template <typename T>
void append(std::vector<T>& to, std::vector<T>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

struct RecordFetcher::Piece {
  std::vector<Chunk> chunks;
  std::vector<FetchFault> faults;
};

RecordFetcher::RecordFetcher(std::vector<std::filesystem::path> paths, const RecordPlaces& places, std::size_t threads,
                             bool verify, std::size_t most_open)
    : places_(places),
      verify_(verify),
      files_(std::move(paths), most_open),
      workers_(threads),
      jobs_(threads, [this](FetchJob& job) { fetch(job, 1, run_here); }) {}

void RecordFetcher::run(FetchJob& job) {
  jobs_.check_process();
  fetch(job, job.rows.size() / kRowsPerPart, [this](std::size_t n, const auto& task) { workers_.run(n, task); });
}

void RecordFetcher::fetch(FetchJob& job, std::size_t parts, const Runner& run) {
  const std::size_t rows = job.rows.size();
  std::optional<BatchBuilder> builder;
  if (job.decoder) builder.emplace(*job.decoder, rows, job.outputs);
  std::vector<Piece> pieces(std::max<std::size_t>(1, parts));
  run(pieces.size(), [&](std::size_t i) {
    const std::size_t begin = rows * i / pieces.size(), end = rows * (i + 1) / pieces.size();
    pieces[i] = fetch_rows(job, begin, end, builder ? &*builder : nullptr);
  });
  for (Piece& piece : pieces) {
    append(job.chunks, piece.chunks);
    append(job.faults, piece.faults);
  }
  if (!job.faults.empty())
    job.chunks.clear();
  else if (builder)
    job.decoded = builder->finish(rows, run_here);
}

RecordFetcher::Piece RecordFetcher::fetch_rows(const FetchJob& job, std::size_t begin, std::size_t end,
                                               BatchBuilder* builder) {
  Piece piece;
  while (begin < end) begin = fetch_piece(job, begin, end, builder, piece);
  return piece;
}

// What the frames of rows take if the index is right, but no more than a piece may.
std::size_t RecordFetcher::piece_bytes(const FetchJob& job, std::size_t begin, std::size_t end) const {
  std::uint64_t bytes = 0;
  for (std::size_t row = begin; row < end; ++row) {
    const std::uint64_t length = places_.at(job.rows[row]).length;
    if (length >= kPieceBytes || bytes + length + kFrameOverhead >= kPieceBytes) return kPieceBytes;
    bytes += length + kFrameOverhead;
  }
  return static_cast<std::size_t>(bytes);
}

// Fetches rows from `begin` on, as many as fit and at least one; answers the row behind them.
std::size_t RecordFetcher::fetch_piece(const FetchJob& job, std::size_t begin, std::size_t end, BatchBuilder* builder,
                                       Piece& into) {
  SharedBuffer buffer;
  auto spans = std::make_shared<std::vector<Span>>();
  std::shared_ptr<const ShardFile> file;
  std::size_t row = begin, used = 0, opened = places_.shards();
  while (row < end) {
    const RecordPlace place = places_.at(job.rows[row]);
    if (place.shard != opened) file = files_.open(opened = place.shard);
    if (!holds(*file, place)) {
      into.faults.push_back({row++, FetchFaultKind::kTruncatedRecord});
      continue;
    }
    if (!buffer) buffer = acquire_buffer(std::max(frame_bytes(place), piece_bytes(job, row, end)));
    if (frame_bytes(place) > buffer->capacity() - used) break;

    // Rows that follow one another in the file are read together.
    const std::size_t first = spans->size();
    std::size_t size = 0;
    for (RecordPlace next = place;;) {
      spans->push_back({used + size + kHeaderBytes, next.length});
      size += frame_bytes(next);
      if (row + (spans->size() - first) == end) break;
      next = places_.at(job.rows[row + (spans->size() - first)]);
      if (next.shard != place.shard || next.offset != place.offset + size || !holds(*file, next) ||
          frame_bytes(next) > buffer->capacity() - used - size)
        break;
    }

    const std::byte* frames = buffer->data() + used;
    const std::size_t there = read(*file, buffer->data() + used, size, place.offset);
    for (std::size_t i = first; i < spans->size(); ++i, ++row) {
      const Span span = (*spans)[i];
      const std::size_t at = static_cast<std::size_t>(span.offset) - kHeaderBytes - used;
      const FetchFaultKind kind = check(frames + at, there - std::min(at, there), span.length);
      if (kind != FetchFaultKind::kNone) into.faults.push_back({row, kind});
    }
    used += size;
  }
  if (!into.faults.empty() || spans->empty()) return row;
  const std::size_t count = spans->size();
  const Chunk chunk{std::move(buffer), std::move(spans), 0, count, 0, 0, nullptr};
  if (builder != nullptr)
    builder->decode({&chunk, 1}, begin);
  else
    into.chunks.push_back(chunk);
  return row;
}

FetchFaultKind RecordFetcher::check(const std::byte* frame, std::size_t there, std::uint64_t length) const {
  if (there < kHeaderBytes) return FetchFaultKind::kTruncatedRecord;
  if (!header_is_sound(frame)) return FetchFaultKind::kLengthChecksum;
  if (load_le64(frame) != length) return FetchFaultKind::kMoved;
  if (there < length + kFrameOverhead) return FetchFaultKind::kTruncatedRecord;
  if (verify_ && !payload_is_sound(frame, {kHeaderBytes, length})) return FetchFaultKind::kDataChecksum;
  return FetchFaultKind::kNone;
}

FetchedRecord RecordFetcher::read_one(std::uint64_t row) {
  jobs_.check_process();
  const RecordPlace place = places_.at(row);
  const std::shared_ptr<const ShardFile> file = files_.open(place.shard);
  if (!holds(*file, place)) return {FetchFaultKind::kTruncatedRecord, nullptr, 0};
  const SharedBuffer frame = acquire_buffer(frame_bytes(place));
  const std::size_t there = read(*file, frame->data(), frame_bytes(place), place.offset);
  return {check(frame->data(), there, place.length), frame, place.length};
}

}  // namespace penstock
