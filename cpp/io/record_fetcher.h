// Reads records by their places, in any order, ahead of the consumer: random access and exact shuffles.
//
// The places come from an index, which may be stale or wrong: every frame is checked against it. A job is read,
// verified and decoded by one thread, piece by piece, so that the bytes of a piece stay near; jobs run side by side and
// come out in order.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "core/chunk.h"
#include "core/example/batch.h"
#include "io/ordered_jobs.h"
#include "io/shard_files.h"

namespace penstock {

enum class FetchFaultKind : std::uint8_t {
  kNone,
  kLengthChecksum,   // the header does not check itself
  kDataChecksum,     // the payload does not match its checksum
  kTruncatedRecord,  // the file ends before the record does
  kMoved,            // a good header, of another length: the index is stale
};

struct FetchFault {
  std::size_t row = 0;
  FetchFaultKind kind = FetchFaultKind::kNone;
};

struct FetchJob {
  // What to fetch: of each row the file, the offset of its frame and the length of its payload.
  std::vector<std::uint32_t> shards;
  std::vector<std::uint64_t> offsets, lengths;
  std::shared_ptr<BatchDecoder> decoder;  // or nothing
  Outputs outputs;                        // as in BatchDecoder::decode(); the memory must last until the job is taken

  // What came of it. With faults, neither of the first two.
  std::optional<DecodedBatch> decoded;  // with a decoder
  std::vector<Chunk> chunks;            // without one: the records in the order of the rows
  std::vector<FetchFault> faults;       // of all rows, in their order

  std::size_t rows() const { return shards.size(); }
};

class RecordFetcher {
 public:
  RecordFetcher(std::vector<std::filesystem::path> paths, std::size_t threads, bool verify, std::size_t most_open);

  // The job's vectors must be of one size, and its shards in range.
  void submit(FetchJob job) { jobs_.submit(std::move(job)); }
  std::size_t pending() const { return jobs_.pending(); }
  std::optional<FetchJob> next(std::chrono::milliseconds patience) { return jobs_.next(patience); }

  // Does a job on the calling thread: for one alone, waking another thread costs more than it saves. Thread-safe.
  void run(FetchJob& job) {
    jobs_.check_process();
    fetch(job);
  }

  std::size_t shards() const { return files_.size(); }

  // One record, on the calling thread: `frame` is given room when it is known that the file is long enough. The payload
  // stands in it behind the header.
  FetchFaultKind read_one(std::size_t shard, std::uint64_t offset, std::uint64_t length, std::vector<std::byte>& frame);

 private:
  void fetch(FetchJob& job);
  std::size_t fetch_piece(FetchJob& job, std::size_t first, BatchBuilder* builder);
  FetchFaultKind check(const std::byte* frame, std::size_t there, std::uint64_t length) const;

  const bool verify_;
  ShardFiles files_;
  OrderedJobs<FetchJob> jobs_;  // last: its threads end before what they use
};

}  // namespace penstock
