#include "io/record_fetcher.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/frame.h"
#include "core/little_endian.h"

namespace penstock {
namespace {

// What the second-level cache of most CPUs holds, with room for what is decoded from it.
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

// Of a job that threads share: few, so that all have done their last at about the same time.
constexpr std::size_t kRowsPerPart = 16;

// Fewer lie far apart, in whatever order.
constexpr std::size_t kFewestSorted = 64;

// Calls for random access come one after another. To make Python objects of 256 records, to look at them and to ask for
// the next takes about 60 us.
constexpr std::chrono::microseconds kAwake{80};

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

// A record that is to be read.
struct RecordFetcher::Read {
  RecordPlace place;
  std::size_t row;  // of the job
  std::size_t at;   // in memory
};

struct RecordFetcher::Piece {
  std::vector<Chunk> chunks;
  std::vector<FetchFault> faults;
};

RecordFetcher::RecordFetcher(std::vector<std::filesystem::path> paths, const RecordPlaces& places, std::size_t threads,
                             bool verify, std::size_t most_open)
    : places_(places),
      verify_(verify),
      files_(std::move(paths), most_open),
      workers_(threads, kAwake),
      jobs_(threads, [this](FetchJob& job) { job.sweep ? fetch_swept(job) : fetch(job, 1, run_here); }) {}

void RecordFetcher::foresee(const std::vector<std::vector<std::uint64_t>>& jobs,
                            std::shared_ptr<BatchDecoder> decoder) {
  if (!jobs.empty()) foreseen_.push_back({std::make_shared<Sweep>(places_, jobs, std::move(decoder))});
}

void RecordFetcher::submit(FetchJob job) {
  if (!foreseen_.empty()) {
    Foreseen& next = foreseen_.front();
    job.sweep = next.sweep;
    job.number_in_sweep = next.submitted++;
    if (next.submitted == next.sweep->jobs()) foreseen_.pop_front();
  }
  jobs_.submit(std::move(job));
}

void RecordFetcher::fetch_swept(FetchJob& job) {
  job.sweep->read(files_, verify_, stop_);
  if (stop_) return;
  const std::shared_ptr<Sweep> sweep = std::move(job.sweep);
  job.faults = sweep->take_faults(job.number_in_sweep);
  if (sweep->decodes()) {
    DecodedBatch decoded = sweep->take_decoded(job.number_in_sweep);
    if (job.faults.empty()) job.decoded = std::move(decoded);
    return;
  }
  const Chunk chunk = sweep->take_chunk(job.number_in_sweep);
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

// Fetches rows from `begin` on, as many as fit and at least one; answers the row behind them.
std::size_t RecordFetcher::fetch_piece(const FetchJob& job, std::size_t begin, std::size_t end, BatchBuilder* builder,
                                       Piece& into) {
  std::vector<Read> reads;
  auto spans = std::make_shared<std::vector<Span>>();
  reads.reserve(end - begin);
  spans->reserve(end - begin);
  std::size_t row = begin, size = 0;
  for (; row < end; ++row) {
    const RecordPlace place = places_.at(job.rows[row]);
    if (row > begin && (place.length > kPieceBytes || size + frame_bytes(place) > kPieceBytes)) break;
    // What an index says of a large record is not believed before the file is seen.
    if (place.length > kPieceBytes && !holds(*files_.open(place.shard), place)) {
      into.faults.push_back({row, FetchFaultKind::kTruncatedRecord});
      return row + 1;
    }
    reads.push_back({place, row, size});
    spans->push_back({size + kHeaderBytes, place.length});
    size += frame_bytes(place);
  }
  // In the order of the files: what the kernel looks up for one record is at hand for the next.
  if (reads.size() >= kFewestSorted)
    std::ranges::sort(reads, {}, [](const Read& read) { return std::pair(read.place.shard, read.place.offset); });
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
  std::shared_ptr<const ShardFile> file;
  std::size_t opened = places_.shards();
  while (!reads.empty()) {
    const Read& first = reads.front();
    if (first.place.shard != opened) file = files_.open(opened = first.place.shard);
    // Those that follow one another in the file and in memory are read together.
    std::size_t size = 0, count = 0;
    for (; count < reads.size(); ++count) {
      const auto& [place, row, at] = reads[count];
      if (place.shard != opened || place.offset != first.place.offset + size || at != first.at + size ||
          !holds(*file, place))
        break;
      size += frame_bytes(place);
    }
    const std::size_t there = read(*file, out + first.at, size, first.place.offset);
    for (const auto& [place, row, at] : reads.first(count)) {
      const std::size_t before = at - first.at;
      const FetchFaultKind kind = check_frame(out + at, there - std::min(before, there), place.length, verify_);
      if (kind != FetchFaultKind::kNone) faults.push_back({row, kind});
    }
    if (count == 0) faults.push_back({first.row, FetchFaultKind::kTruncatedRecord});
    reads = reads.subspan(std::max<std::size_t>(1, count));
  }
}

FetchedRecord RecordFetcher::read_one(std::uint64_t row) {
  jobs_.check_process();
  const RecordPlace place = places_.at(row);
  const std::shared_ptr<const ShardFile> file = files_.open(place.shard);
  if (!holds(*file, place)) return {FetchFaultKind::kTruncatedRecord, nullptr, 0};
  const SharedBuffer frame = acquire_buffer(frame_bytes(place));
  const std::size_t there = read(*file, frame->data(), frame_bytes(place), place.offset);
  return {check_frame(frame->data(), there, place.length, verify_), frame, place.length};
}

}  // namespace penstock
