// Reads the records of several jobs together, in the order of the files.
//
// A system call costs as much as reading 4 KiB more in another call. So if the records of the jobs are a good part of a
// range, the whole range is read. Every thread that reaches a job of a coalesced read reads parts of it until all is
// read, then continues with its job.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/chunk.h"
#include "core/example/batch.h"
#include "io/fetch_fault.h"
#include "io/open_files.h"
#include "io/record_locations.h"

namespace penstock {

class CoalescedRead {
 public:
  // `jobs` has the rows of each job, all below locations.rows(). `locations` must outlive this object. With a decoder
  // that scatters(), records are decoded as they are read, if that takes no more memory than the records.
  CoalescedRead(const RecordLocations& locations, const std::vector<std::vector<std::uint64_t>>& jobs,
                std::shared_ptr<BatchDecoder> decoder);

  std::size_t jobs() const { return outcomes_.size(); }

  // Returns when everything is read, or `stop` is set. Thread-safe.
  void read(OpenFiles& files, bool verify, const std::atomic<bool>& stop);

  // Whether the results are decoded.
  bool decodes() const { return decoder_ != nullptr; }

  // The result of a job after read(): its records in order, or the faults of some of them. Call once per job.
  std::vector<FetchFault> take_faults(std::size_t job);
  Chunk take_chunk(std::size_t job);
  DecodedBatch take_decoded(std::size_t job);

 private:
  struct Read {
    std::uint64_t number;  // of the row, across all files
    std::uint32_t job, row;
  };
  struct Outcome {
    std::size_t bytes = 0;
    SharedBuffer buffer;
    std::unique_ptr<BatchBuilder> builder;  // alternative to `buffer`
    std::shared_ptr<std::vector<Span>> spans = std::make_shared<std::vector<Span>>();
    std::vector<FetchFault> faults;
  };

  struct Reader;  // the state of one reading thread

  void divide(const std::vector<std::vector<std::uint64_t>>& jobs);
  void read_part(std::span<Read> part, OpenFiles& files, bool verify);
  void read_run(const OpenFile& file, std::span<const Read> run, std::uint64_t begin, std::uint64_t end, bool verify,
                Reader& reader);
  void fail(const Read& read, FetchFaultKind kind);

  const RecordLocations& locations_;
  std::shared_ptr<BatchDecoder> decoder_;
  std::vector<Outcome> outcomes_;         // per job
  std::vector<Read> reads_;               // by part; the rows of a part are near one another in the files
  std::vector<std::size_t> part_starts_;  // in `reads_`, and the end of the last part

  std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false;  // guarded by the mutex, as are the following members
  std::size_t next_part_ = 0, parts_done_ = 0;
  std::exception_ptr error_;
};

}  // namespace penstock
