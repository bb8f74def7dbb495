// Decodes the records of chunks into whole columns, in one part or in several parts in parallel.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/chunk.h"
#include "core/example/decode.h"

namespace penstock {

// One feature's values. Rows of one size follow each other in `values`; others are items with offsets.
struct DecodedColumn {
  SharedBuffer values;
  std::uint64_t items = 0;    // in `values`
  SharedBuffer offsets;       // int64[rows + 1]: items of each row; in a sequence: steps of each row
  SharedBuffer step_offsets;  // int64[steps + 1], in a ragged sequence: items of each step
  std::uint64_t steps = 0;
  SharedBuffer valid;  // uint8[rows]
};

struct DecodedBatch {
  std::size_t rows = 0;
  std::vector<DecodedColumn> columns;  // one per feature of the plan
  std::vector<SharedBuffer> buffers;   // that views point into
  DecodeFault fault;                   // if set, the columns are undefined
};

// Where a batch has its columns with rows of one size: from `offset` on in a buffer. Without a buffer, it takes its
// own.
struct BatchMemory {
  SharedBuffer buffer;
  std::size_t offset = 0;
};

// Memory provided by the caller for each dense column: item_bytes * rows, or nullptr.
using Outputs = std::vector<std::byte*>;

// Runs task(0) ... task(n - 1), on any threads, and returns when all are done.
using Runner = std::function<void(std::size_t n, const std::function<void(std::size_t)>& task)>;

void run_here(std::size_t n, const std::function<void(std::size_t)>& task);

// Thread-safe: decode() may run on several threads at once.
class BatchDecoder {
 public:
  explicit BatchDecoder(DecodePlan plan);
  ~BatchDecoder();

  // `outputs` is empty or has an entry per feature.
  DecodedBatch decode(const std::vector<Chunk>& chunks, const Outputs& outputs, std::size_t parts, const Runner& run);

  const DecodePlan& plan() const { return plan_; }
  bool has_views() const { return has_views_; }

  // Bytes of a row in all columns with rows of one size.
  std::uint64_t dense_row_bytes() const;

  // Bytes of the memory that a batch of this many rows has for such columns and for masks. Throws std::bad_alloc if
  // there cannot be as many.
  std::size_t dense_bytes(std::size_t rows) const;

  // What one thread uses to decode. Borrowed for as long as it has records to decode.
  struct Worker;
  class BorrowedWorker {
   public:
    explicit BorrowedWorker(BatchDecoder& decoder) : decoder_(decoder), worker_(decoder.borrow_worker()) {}
    ~BorrowedWorker() { decoder_.return_worker(std::move(worker_)); }
    BorrowedWorker(const BorrowedWorker&) = delete;
    BorrowedWorker& operator=(const BorrowedWorker&) = delete;
    Worker& operator*() const { return *worker_; }
    Worker* operator->() const { return worker_.get(); }

   private:
    BatchDecoder& decoder_;
    std::unique_ptr<Worker> worker_;
  };

  // Whether a ScatterDecoder is possible and faster: all rows are of one size, and most of their bytes are contiguous.
  bool scatters() const;

 private:
  friend class BatchBuilder;

  std::unique_lock<std::mutex> lock_idle();
  std::unique_ptr<Worker> borrow_worker();
  void return_worker(std::unique_ptr<Worker> worker);

  const DecodePlan plan_;
  const bool has_views_;
  const bool all_dense_;  // all rows are of one size
  // For each feature, from the last batch: the mean bytes of a ragged row, and the bytes of every row if all are equal.
  std::vector<std::atomic<std::uint64_t>> ragged_row_bytes_, even_row_bytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

// A batch that is decoded in runs of rows, in any order and from several threads.
//
// Dense rows are written to their final position. So are ragged rows while all have one size, as sequences often do.
// The ragged values of any other run are decoded into memory that its thread reuses, and copied to their final position
// while they are cached, once all earlier runs have theirs. A run that is too early keeps its memory, and the thread
// that adds the preceding run copies it. A run that is the whole batch is not copied. The final memory is sized by
// earlier batches; if it is too small, or rows are not of the predicted size, finish() joins the parts.
class BatchBuilder {
 public:
  BatchBuilder(BatchDecoder& decoder, std::size_t rows, const Outputs& outputs, BatchMemory memory = {});
  ~BatchBuilder();

  // Decodes the records of `chunks`, the first of which is row `first_row`. Thread-safe for runs that do not overlap.
  void decode(std::span<const Chunk> chunks, std::size_t first_row);
  void decode(std::span<const Chunk> chunks, std::size_t first_row, BatchDecoder::Worker& worker);

  // Returns the first `rows` rows, all of which must be decoded. Rows after them are ignored; other threads may still
  // be decoding them. After a fault, it may be called again for fewer rows; otherwise once.
  DecodedBatch finish(std::size_t rows, const Runner& run);

  // Memory of the runs decoded so far, in addition to what the constructor allocated.
  std::size_t held_bytes();

 private:
  friend class ScatterDecoder;
  struct Part;  // the ragged values of a run of rows, or its fault

  void allocate_dense_columns(BatchMemory memory);
  void preallocate_even_columns();
  void set_outputs(std::span<ColumnPart> columns, std::size_t first_row, std::size_t rows) const;
  std::vector<std::span<std::byte>> views_of(std::span<ColumnPart> columns, std::size_t first_row,
                                             std::size_t rows) const;
  void place_part(std::unique_ptr<Part> part, BatchDecoder::Worker& worker, std::size_t held);
  bool reserve(Part& part);
  bool is_collected(std::size_t feature) const;
  void copy(const Part& part, std::size_t feature, const std::byte* values) const;
  void join(std::size_t feature, std::span<const std::unique_ptr<Part>> parts, DecodedColumn& column,
            const Runner& run) const;
  void learn_sizes(std::size_t feature, std::span<const std::unique_ptr<Part>> parts, std::uint64_t bytes,
                   std::size_t rows) const;

  BatchDecoder& decoder_;
  const std::size_t rows_;
  const Outputs outputs_;
  std::vector<DecodedColumn> columns_;
  std::vector<std::size_t> row_bytes_;  // predicted size of a ragged row, or 0
  bool is_nontemporal_ = false;         // values are written past the caches
  std::int32_t default_number_ = 0;
  ViewBuffers buffers_;

  std::mutex mutex_;                                    // guards the following members
  std::map<std::size_t, std::unique_ptr<Part>> parts_;  // by first row
  std::size_t placed_rows_ = 0;                         // whose ragged values have a final position
  std::vector<std::size_t> placed_bytes_;               // for each ragged column
  std::size_t held_bytes_ = 0;
};

// A PartDecoder and what it learned about the records.
struct BatchDecoder::Worker {
  explicit Worker(const DecodePlan& plan) : decoder(plan), columns(plan.features.size()) {}
  PartDecoder decoder;
  std::vector<RecordRef> records;
  std::vector<ColumnPart> columns;
};

struct BatchBuilder::Part {
  struct Ragged {
    SharedBuffer values;  // its own memory, unless placed
    std::size_t bytes = 0;
    bool placed = false;
    std::size_t place = 0;  // offset in the column, if placed
    std::vector<std::int64_t> lengths, step_lengths;
  };
  std::size_t first_row = 0;
  std::size_t rows = 0;
  DecodeFault fault;
  std::vector<Ragged> columns;  // one per feature; empty for a dense one
};

}  // namespace penstock
