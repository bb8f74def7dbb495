#include "io/coalesced_read.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/example/scatter_decode.h"
#include "core/nontemporal_copy.h"

namespace penstock {
namespace {

// Gaps between records up to this size are read along with them.
constexpr std::uint64_t kGapBytes = 4 << 10;

// Read by one call: records are checked and copied while the bytes are in the cache.
constexpr std::size_t kRunBytes = std::size_t{256} << 10;

constexpr std::size_t kRowsPerPart = 512;

// An index may be wrong: jobs that would need more memory than this are not read here.
constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;

}  // namespace

struct CoalescedRead::Reader {
  explicit Reader(BatchDecoder* decoder) {
    if (decoder != nullptr) scatter.emplace(*decoder);
  }

  const SharedBuffer scratch = acquire_buffer(kRunBytes + kCacheLine);
  NontemporalCopies copies;
  std::optional<ScatterDecoder> scatter;  // if records are decoded
};

CoalescedRead::CoalescedRead(const RecordLocations& locations, const std::vector<std::vector<std::uint64_t>>& jobs,
                             std::shared_ptr<BatchDecoder> decoder)
    : locations_(locations), outcomes_(jobs.size()) {
  std::uint64_t total = 0;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    Outcome& outcome = outcomes_[job];
    outcome.spans->reserve(jobs[job].size());
    for (const std::uint64_t number : jobs[job]) {
      const std::uint64_t length = locations.at(number).length;
      if (length > kMaxBytes || total + outcome.bytes + length > kMaxBytes) break;
      outcome.spans->push_back({outcome.bytes + kHeaderBytes, length});
      outcome.bytes += whole_lines(static_cast<std::size_t>(length) + kFrameOverhead);
    }
    if (outcome.spans->size() < jobs[job].size()) {
      outcome.faults.push_back({outcome.spans->size(), FetchFaultKind::kUnread});
      outcome.spans->clear();
      outcome.bytes = 0;
    }
    total += outcome.bytes;
  }
  divide(jobs);
  if (decoder && decoder->scatters() && decoder->dense_row_bytes() <= total / std::max<std::size_t>(1, reads_.size()))
    decoder_ = std::move(decoder);
}

// Sorts rows into parts by their numbers, which follow their locations.
void CoalescedRead::divide(const std::vector<std::vector<std::uint64_t>>& jobs) {
  std::size_t rows = 0;
  for (const Outcome& outcome : outcomes_) rows += outcome.spans->size();
  const std::size_t parts = rows / kRowsPerPart + 1;
  const std::uint64_t numbers_per_part = locations_.rows() / parts + 1;
  std::vector<std::size_t> ends(parts + 1);
  const auto each_row = [&](auto visit) {
    for (std::size_t job = 0; job < jobs.size(); ++job)
      for (std::size_t row = 0; row < outcomes_[job].spans->size(); ++row)
        visit(Read{jobs[job][row], static_cast<std::uint32_t>(job), static_cast<std::uint32_t>(row)});
  };
  each_row([&](const Read& read) { ++ends[read.number / numbers_per_part + 1]; });
  for (std::size_t part = 0; part < parts; ++part) ends[part + 1] += ends[part];
  part_starts_ = ends;
  reads_.resize(rows);
  each_row([&](const Read& read) { reads_[ends[read.number / numbers_per_part]++] = read; });
}

void CoalescedRead::read(OpenFiles& files, bool verify, const std::atomic<bool>& stop) {
  std::unique_lock lock(mutex_);
  if (!begun_) {
    for (Outcome& outcome : outcomes_) {
      if (decoder_)
        outcome.builder = std::make_unique<BatchBuilder>(*decoder_, outcome.spans->size(), Outputs());
      else
        outcome.buffer = acquire_buffer(outcome.bytes);
    }
  }
  begun_ = true;
  const std::size_t parts = part_starts_.size() - 1;
  while (next_part_ < parts) {
    const std::size_t begin = part_starts_[next_part_], end = part_starts_[next_part_ + 1];
    ++next_part_;
    lock.unlock();
    std::exception_ptr error;
    try {
      if (!stop) read_part(std::span(reads_).subspan(begin, end - begin), files, verify);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) error_ = error;
    if (++parts_done_ == parts) changed_.notify_all();
  }
  changed_.wait(lock, [&] { return parts_done_ == parts; });
  if (error_) std::rethrow_exception(error_);
}

void CoalescedRead::read_part(std::span<Read> part, OpenFiles& files, bool verify) {
  std::ranges::sort(part, {}, &Read::number);
  Reader reader(decoder_.get());
  std::shared_ptr<const OpenFile> file;
  std::size_t opened = locations_.shards();
  for (std::size_t first = 0; first < part.size();) {
    const RecordLocation location = locations_.at(part[first].number);
    try {
      if (location.shard != opened) file = files.open(opened = location.shard);
    } catch (const FileError&) {
      opened = locations_.shards();
      fail(part[first++], FetchFaultKind::kUnread);
      continue;
    }
    if (!fits_in_file(*file, location)) {
      fail(part[first++], FetchFaultKind::kTruncatedRecord);
      continue;
    }
    std::uint64_t end = location.offset + frame_bytes(location);
    std::size_t last = first + 1;
    for (; last < part.size(); ++last) {
      const RecordLocation next = locations_.at(part[last].number);
      if (next.shard != opened || next.offset < location.offset || next.offset > end + kGapBytes ||
          !fits_in_file(*file, next) || next.offset + frame_bytes(next) - location.offset > kRunBytes)
        break;
      end = std::max(end, next.offset + frame_bytes(next));
    }
    read_run(*file, part.subspan(first, last - first), location.offset, end, verify, reader);
    first = last;
  }
}

// Reads the records between two offsets of a file with one call.
void CoalescedRead::read_run(const OpenFile& file, std::span<const Read> run, std::uint64_t begin, std::uint64_t end,
                             bool verify, Reader& reader) {
  const auto frame_in_memory = [&](const Read& read) {
    Outcome& outcome = outcomes_[read.job];
    return outcome.buffer->data() + (*outcome.spans)[read.row].offset - kHeaderBytes;
  };
  const bool large = end - begin > kRunBytes;  // a single record
  const SharedBuffer own = large && decoder_ ? acquire_buffer(static_cast<std::size_t>(end - begin)) : nullptr;
  std::byte* const bytes = own ? own->data() : large ? frame_in_memory(run.front()) : reader.scratch->data();
  std::size_t available = 0;
  try {
    available = file.file.read_at(bytes, static_cast<std::size_t>(end - begin), begin);
  } catch (const std::system_error&) {
    for (const Read& read : run) fail(read, FetchFaultKind::kUnread);
    return;
  }
  for (const Read& read : run) {
    const RecordLocation location = locations_.at(read.number);
    const auto before = static_cast<std::size_t>(location.offset - begin);
    const FetchFaultKind kind =
        check_frame(bytes + before, available - std::min(before, available), location.length, verify);
    if (kind != FetchFaultKind::kNone)
      fail(read, kind);
    else if (reader.scatter)
      reader.scatter->decode({bytes + before + kHeaderBytes, static_cast<std::size_t>(location.length)},
                             *outcomes_[read.job].builder, read.row);
    else if (!large)
      reader.copies.copy(frame_in_memory(read), bytes + before, whole_lines(frame_bytes(location)));
  }
}

void CoalescedRead::fail(const Read& read, FetchFaultKind kind) {
  const std::lock_guard lock(mutex_);
  outcomes_[read.job].faults.push_back({read.row, kind});
}

std::vector<FetchFault> CoalescedRead::take_faults(std::size_t job) {
  std::vector<FetchFault> faults = std::move(outcomes_[job].faults);
  std::ranges::sort(faults, {}, &FetchFault::row);
  return faults;
}

Chunk CoalescedRead::take_chunk(std::size_t job) {
  Outcome& outcome = outcomes_[job];
  const std::size_t count = outcome.spans->size();
  return {std::move(outcome.buffer), std::move(outcome.spans), 0, count, 0, 0, nullptr};
}

DecodedBatch CoalescedRead::take_decoded(std::size_t job) {
  const std::unique_ptr<BatchBuilder> builder = std::move(outcomes_[job].builder);
  return builder->finish(outcomes_[job].spans->size(), run_here);
}

}  // namespace penstock
