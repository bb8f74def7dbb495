#include "io/record_fetcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/frame.h"
#include "core/little_endian.h"

namespace penstock {
namespace {

// Fits the second-level cache of most CPUs, together with what is decoded from it.
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

// For a job that threads share: small, so that all threads finish at about the same time.
constexpr std::size_t kRowsPerPart = 16;

// Fewer rows are far apart in any order.
constexpr std::size_t kMinSorted = 64;

// Random accesses come one after another: turning 256 records into Python objects, using them and requesting the next
// ones takes about 60 us.
constexpr std::chrono::microseconds kAwake{80};

std::size_t read(const OpenFile& file, std::byte* out, std::size_t size, std::uint64_t offset) {
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

// A record to read.
struct RecordFetcher::Read {
  RecordLocation location;
  std::size_t row;  // of the job
  std::size_t at;   // offset in memory
};

struct RecordFetcher::Piece {
  std::vector<Chunk> chunks;
  std::vector<FetchFault> faults;
};

RecordFetcher::RecordFetcher(std::vector<std::filesystem::path> paths, const RecordLocations& locations,
                             std::size_t threads, bool verify, std::size_t max_open)
    : locations_(locations),
      verify_(verify),
      files_(std::move(paths), max_open),
      workers_(threads, kAwake),
      jobs_(threads, [this](FetchJob& job) { job.coalesced ? fetch_coalesced(job) : fetch(job, 1, run_here); }) {}

void RecordFetcher::coalesce(const std::vector<std::vector<std::uint64_t>>& jobs,
                             std::shared_ptr<BatchDecoder> decoder) {
  if (!jobs.empty()) planned_.push_back({std::make_shared<CoalescedRead>(locations_, jobs, std::move(decoder))});
}

void RecordFetcher::submit(FetchJob job) {
  if (!planned_.empty()) {
    PlannedRead& next = planned_.front();
    job.coalesced = next.coalesced;
    job.index_in_read = next.submitted++;
    if (next.submitted == next.coalesced->jobs()) planned_.pop_front();
  }
  jobs_.submit(std::move(job));
}

void RecordFetcher::fetch_coalesced(FetchJob& job) {
  job.coalesced->read(files_, verify_, stop_);
  if (stop_) return;
  const std::shared_ptr<CoalescedRead> coalesced = std::move(job.coalesced);
  job.faults = coalesced->take_faults(job.index_in_read);
  if (coalesced->decodes()) {
    DecodedBatch decoded = coalesced->take_decoded(job.index_in_read);
    if (job.faults.empty()) job.decoded = std::move(decoded);
    return;
  }
  const Chunk chunk = coalesced->take_chunk(job.index_in_read);
  if (!job.faults.empty()) return;
  if (!job.decoder) {
    job.chunks.push_back(chunk);
    return;
  }
  BatchBuilder builder(*job.decoder, chunk.size(), job.outputs);
  builder.decode({&chunk, 1}, 0);
  job.decoded = builder.finish(chunk.size(), run_here);
}

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
  std::ranges::sort(piece.faults, {}, &FetchFault::row);
  return piece;
}

// Fetches rows from `begin` on, as many as fit but at least one; returns the row after them.
std::size_t RecordFetcher::fetch_piece(const FetchJob& job, std::size_t begin, std::size_t end, BatchBuilder* builder,
                                       Piece& into) {
  std::vector<Read> reads;
  auto spans = std::make_shared<std::vector<Span>>();
  reads.reserve(end - begin);
  spans->reserve(end - begin);
  std::size_t row = begin, size = 0;
  for (; row < end; ++row) {
    const RecordLocation location = locations_.at(job.rows[row]);
    if (row > begin && (location.length > kPieceBytes || size + frame_bytes(location) > kPieceBytes)) break;
    // An index is not trusted about a large record before the file was checked.
    if (location.length > kPieceBytes && !fits_in_file(*files_.open(location.shard), location)) {
      into.faults.push_back({row, FetchFaultKind::kTruncatedRecord});
      return row + 1;
    }
    reads.push_back({location, row, size});
    spans->push_back({size + kHeaderBytes, location.length});
    size += frame_bytes(location);
  }
  // In file order: what the kernel looks up for one record helps with the next.
  if (reads.size() >= kMinSorted)
    std::ranges::sort(reads, {}, [](const Read& read) { return std::pair(read.location.shard, read.location.offset); });
  SharedBuffer buffer = acquire_buffer(size);
  read_all(reads, buffer->data(), into.faults);
  if (!into.faults.empty()) return row;
  const std::size_t count = spans->size();
  const Chunk chunk{std::move(buffer), std::move(spans), 0, count, 0, 0, nullptr};
  if (builder != nullptr)
    builder->decode({&chunk, 1}, begin);
  else
    into.chunks.push_back(chunk);
  return row;
}

void RecordFetcher::read_all(std::span<const Read> reads, std::byte* out, std::vector<FetchFault>& faults) {
  std::shared_ptr<const OpenFile> file;
  std::size_t opened = locations_.shards();
  while (!reads.empty()) {
    const Read& first = reads.front();
    if (first.location.shard != opened) file = files_.open(opened = first.location.shard);
    // Records that are adjacent in the file and in memory are read together.
    std::size_t size = 0, count = 0;
    for (; count < reads.size(); ++count) {
      const auto& [location, row, at] = reads[count];
      if (location.shard != opened || location.offset != first.location.offset + size || at != first.at + size ||
          !fits_in_file(*file, location))
        break;
      size += frame_bytes(location);
    }
    const std::size_t available = read(*file, out + first.at, size, first.location.offset);
    for (const auto& [location, row, at] : reads.first(count)) {
      const std::size_t before = at - first.at;
      const FetchFaultKind kind =
          check_frame(out + at, available - std::min(before, available), location.length, verify_);
      if (kind != FetchFaultKind::kNone) faults.push_back({row, kind});
    }
    if (count == 0) faults.push_back({first.row, FetchFaultKind::kTruncatedRecord});
    reads = reads.subspan(std::max<std::size_t>(1, count));
  }
}

FetchedRecord RecordFetcher::read_one(std::uint64_t row) {
  jobs_.check_process();
  const RecordLocation location = locations_.at(row);
  const std::shared_ptr<const OpenFile> file = files_.open(location.shard);
  if (!fits_in_file(*file, location)) return {FetchFaultKind::kTruncatedRecord, nullptr, 0};
  const SharedBuffer frame = acquire_buffer(frame_bytes(location));
  const std::size_t available = read(*file, frame->data(), frame_bytes(location), location.offset);
  return {check_frame(frame->data(), available, location.length, verify_), frame, location.length};
}

}  // namespace penstock
