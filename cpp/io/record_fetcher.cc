#include "io/record_fetcher.h"

#include <algorithm>
#include <utility>

#include "core/bytes.h"
#include "core/frame.h"

namespace penstock {
namespace {

// What the second-level cache of most CPUs holds, with room for what is decoded from it.
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

bool holds(const ShardFile& file, std::uint64_t offset, std::uint64_t length) {
  return file.size >= kFrameOverhead && length <= file.size - kFrameOverhead &&
         offset <= file.size - kFrameOverhead - length;
}

std::size_t read(const ShardFile& file, std::byte* out, std::size_t size, std::uint64_t offset) {
  try {
    return file.file.read_at(out, size, offset);
  } catch (const std::system_error& error) {
    throw FileError(error, *file.name);
  }
}

}  // namespace

RecordFetcher::RecordFetcher(std::vector<std::filesystem::path> paths, std::size_t threads, bool verify,
                             std::size_t most_open)
    : verify_(verify), files_(std::move(paths), most_open), jobs_(threads, [this](FetchJob& job) { fetch(job); }) {}

void RecordFetcher::fetch(FetchJob& job) {
  std::optional<BatchBuilder> builder;
  if (job.decoder) builder.emplace(*job.decoder, job.rows(), job.outputs);
  for (std::size_t row = 0; row < job.rows();) row = fetch_piece(job, row, builder ? &*builder : nullptr);
  if (!job.faults.empty())
    job.chunks.clear();
  else if (builder)
    job.decoded = builder->finish(job.rows(), run_here);
}

// Fetches rows from `first` on, as many as a piece takes and at least one; answers the row behind them.
std::size_t RecordFetcher::fetch_piece(FetchJob& job, std::size_t first, BatchBuilder* builder) {
  SharedBuffer buffer;
  auto spans = std::make_shared<std::vector<Span>>();
  std::size_t row = first, used = 0;
  std::shared_ptr<const ShardFile> file;
  while (row < job.rows()) {
    if (row == first || job.shards[row] != job.shards[row - 1]) file = files_.open(job.shards[row]);
    if (!holds(*file, job.offsets[row], job.lengths[row])) {
      job.faults.push_back({row++, FetchFaultKind::kTruncatedRecord});
      continue;
    }
    const std::size_t frame_bytes = static_cast<std::size_t>(job.lengths[row]) + kFrameOverhead;
    if (!buffer) buffer = acquire_buffer(std::max(kPieceBytes, frame_bytes));
    if (frame_bytes > buffer->capacity() - used) break;

    // Rows that follow one another in the file are read together.
    std::size_t end = row + 1, size = frame_bytes;
    while (end < job.rows() && job.shards[end] == job.shards[row] && job.offsets[end] == job.offsets[row] + size &&
           holds(*file, job.offsets[end], job.lengths[end]) &&
           job.lengths[end] + kFrameOverhead <= buffer->capacity() - used - size)
      size += static_cast<std::size_t>(job.lengths[end++]) + kFrameOverhead;

    const std::size_t there = read(*file, buffer->data() + used, size, job.offsets[row]);
    const std::size_t first_span = spans->size();
    for (std::size_t at = 0, i = row; i < end; ++i) {
      const FetchFaultKind kind = check(buffer->data() + used + at, there - std::min(at, there), job.lengths[i]);
      if (kind != FetchFaultKind::kNone) job.faults.push_back({i, kind});
      spans->push_back({used + at + kHeaderBytes, job.lengths[i]});
      at += static_cast<std::size_t>(job.lengths[i]) + kFrameOverhead;
    }
    if (builder == nullptr)
      job.chunks.push_back({buffer, spans, first_span, spans->size(), 0,
                            static_cast<std::int64_t>(job.offsets[row]) - static_cast<std::int64_t>(used), file->name});
    used += size;
    row = end;
  }
  if (builder != nullptr && job.faults.empty()) {
    const std::size_t count = spans->size();
    const Chunk chunk{buffer, std::move(spans), 0, count, 0, 0, nullptr};
    builder->decode({&chunk, 1}, first);
  }
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

FetchFaultKind RecordFetcher::read_one(std::size_t shard, std::uint64_t offset, std::uint64_t length,
                                       std::vector<std::byte>& frame) {
  jobs_.check_process();
  const std::shared_ptr<const ShardFile> file = files_.open(shard);
  if (!holds(*file, offset, length)) return FetchFaultKind::kTruncatedRecord;
  frame.resize(static_cast<std::size_t>(length) + kFrameOverhead);
  return check(frame.data(), read(*file, frame.data(), frame.size(), offset), length);
}

}  // namespace penstock
