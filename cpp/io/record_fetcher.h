// Reads records by their numbers, in any order: random access, and exact shuffles ahead of the consumer.
//
// Where they are comes from an index, which may be stale or wrong: every frame is checked against it. A job that is
// submitted is read, verified and decoded by one thread, piece by piece, so that the bytes of a piece stay near; jobs
// run side by side and come out in order. A job that somebody waits for is shared between threads instead.
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
  std::vector<std::uint64_t> rows;        // what to fetch
  std::shared_ptr<BatchDecoder> decoder;  // or nothing
  Outputs outputs;                        // as in BatchDecoder::decode(); the memory must last until the job is taken

  // Where its rows are read with those of other jobs: which of them this is.
  std::shared_ptr<CoalescedRead> coalesced;
  std::size_t index_in_read = 0;

  // What came of it. With faults, neither of the first two.
  std::optional<DecodedBatch> decoded;  // with a decoder
  std::vector<Chunk> chunks;            // without one: the payloads, in the order of the rows
  std::vector<FetchFault> faults;       // of all rows, in their order
};

struct FetchedRecord {
  FetchFaultKind fault = FetchFaultKind::kNone;
  SharedBuffer frame;        // without a fault; the payload stands behind the header
  std::uint64_t length = 0;  // of the payload
};

class RecordFetcher {
 public:
  // `places` has an entry for each path, and must last as long as the fetcher.
  RecordFetcher(std::vector<std::filesystem::path> paths, const RecordLocations& locations, std::size_t threads,
                bool verify, std::size_t max_open);

  ~RecordFetcher() { stop_ = true; }

  const RecordLocations& locations() const { return locations_; }

  // Reads the rows of jobs that will be submitted together, when the first of them is run. They are submitted in the
  // same order, behind those foreseen before. Those that will have this decoder, and no outputs, may be decoded then.
  void coalesce(const std::vector<std::vector<std::uint64_t>>& jobs, std::shared_ptr<BatchDecoder> decoder = nullptr);

  // The job's rows must be below places().rows(), here and in what follows.
  void submit(FetchJob job);
  std::size_t pending() const { return jobs_.pending(); }
  std::optional<FetchJob> next(std::chrono::milliseconds timeout) { return jobs_.next(timeout); }

  // Does a job at once, on the calling thread and those that come to help. Thread-safe.
  void run(FetchJob& job);

  // Reads one record, on the calling thread. Thread-safe.
  FetchedRecord read_one(std::uint64_t row);

 private:
  struct PlannedRead {
    std::shared_ptr<CoalescedRead> coalesced;
    std::size_t submitted = 0;  // of its jobs
  };
  struct Read;
  struct Piece;  // what came of some rows of a job

  void fetch(FetchJob& job, std::size_t parts, const Runner& run);
  void fetch_coalesced(FetchJob& job);
  Piece fetch_rows(const FetchJob& job, std::size_t begin, std::size_t end, BatchBuilder* builder);
  std::size_t fetch_piece(const FetchJob& job, std::size_t begin, std::size_t end, BatchBuilder* builder, Piece& into);
  void read_all(std::span<const Read> reads, std::byte* out, std::vector<FetchFault>& faults);

  const RecordLocations& locations_;
  const bool verify_;
  OpenFiles files_;
  Workers workers_;  // for jobs that are run
  std::deque<PlannedRead> planned_;
  std::atomic<bool> stop_ = false;
  OrderedJobs<FetchJob> jobs_;  // those that are submitted; last: its threads end before what they use
};

}  // namespace penstock
