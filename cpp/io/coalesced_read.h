// Records that many jobs will ask for, read together and in the order of the files.
//
// A call of the system takes about as long as 4 KB more in a call that is made anyway. So where the records of some
// jobs are a good part of all that lies between them, what lies between them is read along. Every thread that comes to
// a job of a sweep reads parts of it until all is read; then each goes on with its job.
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
  // The rows of each job, below places.rows(). `places` must last as long as the sweep. With a decoder that scatters,
  // records are decoded as they are read, if their rows take no more memory than they do.
  CoalescedRead(const RecordLocations& locations, const std::vector<std::vector<std::uint64_t>>& jobs,
                std::shared_ptr<BatchDecoder> decoder);

  std::size_t jobs() const { return outcomes_.size(); }

  // Returns when all is read, or when `stop` says that nobody wants it. Thread-safe.
  void read(OpenFiles& files, bool verify, const std::atomic<bool>& stop);

  // Whether jobs come decoded.
  bool decodes() const { return decoder_ != nullptr; }

  // What came of a job, after read(): its records in their order, or else what is wrong with some of them. Once.
  std::vector<FetchFault> take_faults(std::size_t job);
  Chunk take_chunk(std::size_t job);
  DecodedBatch take_decoded(std::size_t job);

 private:
  struct Read {
    std::uint64_t number;  // of the row, through all files
    std::uint32_t job, row;
  };
  struct Outcome {
    std::size_t bytes = 0;
    SharedBuffer buffer;
    std::unique_ptr<BatchBuilder> builder;  // or this
    std::shared_ptr<std::vector<Span>> spans = std::make_shared<std::vector<Span>>();
    std::vector<FetchFault> faults;
  };

  struct Reader;  // what a thread reads by

  void divide(const std::vector<std::vector<std::uint64_t>>& jobs);
  void read_part(std::span<Read> part, OpenFiles& files, bool verify);
  void read_run(const OpenFile& file, std::span<const Read> run, std::uint64_t begin, std::uint64_t end, bool verify,
                Reader& reader);
  void fail(const Read& read, FetchFaultKind kind);

  const RecordLocations& locations_;
  std::shared_ptr<BatchDecoder> decoder_;
  std::vector<Outcome> outcomes_;         // of each job
  std::vector<Read> reads_;               // rows of a part stand near one another in the files
  std::vector<std::size_t> part_starts_;  // in `reads_`, and the end of the last

  std::mutex mutex_;
  std::condition_variable changed_;
  bool begun_ = false;  // guarded by the mutex, as what follows
  std::size_t next_part_ = 0, parts_done_ = 0;
  std::exception_ptr error_;
};

}  // namespace penstock
