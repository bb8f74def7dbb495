// Reads records by number, in any order: for random access, and for exact shuffles ahead of the consumer.
//
// An index, which may be stale or wrong, gives the locations: every frame is checked against it. One thread reads,
// verifies and decodes a submitted job, piece by piece, so that a piece stays in its cache; jobs run in parallel and
// are returned in order. A job that the caller waits for is divided among threads instead.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/chunk.h"
#include "core/example/batch.h"
#include "io/coalesced_read.h"
#include "io/fetch_fault.h"
#include "io/open_files.h"
#include "io/ordered_jobs.h"
#include "io/record_locations.h"
#include "io/workers.h"

namespace penstock {

struct FetchJob {
  std::vector<std::uint64_t> rows;        // to fetch
  std::shared_ptr<BatchDecoder> decoder;  // optional
  Outputs outputs;                        // as in BatchDecoder::decode(); must stay valid until the job is taken

  // If its rows are read together with those of other jobs: that read, and the job's index in it.
  std::shared_ptr<CoalescedRead> coalesced;
  std::size_t index_in_read = 0;

  // The result. With faults, neither of the first two.
  std::optional<DecodedBatch> decoded;  // with a decoder
  std::vector<Chunk> chunks;            // without a decoder: the payloads, in the order of the rows
  std::vector<FetchFault> faults;       // of all rows, in order
};

struct FetchedRecord {
  FetchFaultKind fault = FetchFaultKind::kNone;
  SharedBuffer frame;        // unless there is a fault; the payload follows the header
  std::uint64_t length = 0;  // of the payload
};

class RecordFetcher {
 public:
  // `locations` has an entry for each path, and must outlive the fetcher.
  RecordFetcher(std::vector<std::filesystem::path> paths, const RecordLocations& locations, std::size_t threads,
                bool verify, std::size_t max_open);

  ~RecordFetcher() { stop_ = true; }

  const RecordLocations& locations() const { return locations_; }

  // Announces jobs that will be submitted together: their rows are read when the first of them runs. They must be
  // submitted in the same order, after those announced before. If they will have this decoder and no outputs, they may
  // be decoded on the way.
  void coalesce(const std::vector<std::vector<std::uint64_t>>& jobs, std::shared_ptr<BatchDecoder> decoder = nullptr);

  // The job's rows must be below locations().rows(), here and in the following functions.
  void submit(FetchJob job);
  std::size_t pending() const { return jobs_.pending(); }
  std::optional<FetchJob> next(std::chrono::milliseconds timeout) { return jobs_.next(timeout); }

  // Runs a job on the calling thread and idle helper threads. Thread-safe.
  void run(FetchJob& job);

  // Reads one record on the calling thread. Thread-safe.
  FetchedRecord read_one(std::uint64_t row);

 private:
  struct PlannedRead {
    std::shared_ptr<CoalescedRead> coalesced;
    std::size_t submitted = 0;  // of its jobs
  };
  struct Read;
  struct Piece;  // the result for some rows of a job

  void fetch(FetchJob& job, std::size_t parts, const Runner& run);
  void fetch_coalesced(FetchJob& job);
  Piece fetch_rows(const FetchJob& job, std::size_t begin, std::size_t end, BatchBuilder* builder);
  std::size_t fetch_piece(const FetchJob& job, std::size_t begin, std::size_t end, BatchBuilder* builder, Piece& into);
  void read_all(std::span<const Read> reads, std::byte* out, std::vector<FetchFault>& faults);

  const RecordLocations& locations_;
  const bool verify_;
  OpenFiles files_;
  Workers workers_;  // for run()
  std::deque<PlannedRead> planned_;
  std::atomic<bool> stop_ = false;
  OrderedJobs<FetchJob> jobs_;  // for submit(); declared last: its threads end before the members that they use
};

}  // namespace penstock
