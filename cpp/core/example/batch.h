// Decodes the records of chunks into whole columns, in one part or in several side by side.
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

// One feature's values. Rows of one size lie in `values` one after another; others are items with offsets.
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
  std::vector<SharedBuffer> buffers;   // what views point into
  DecodeFault fault;                   // with a fault, the columns are meaningless
};

// Memory that the caller provides for a dense column: item_bytes * rows, or nullptr.
using Outputs = std::vector<std::byte*>;

// Runs task(0) ... task(n - 1), on whatever threads it has, and returns when all are done.
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

  // Memory of a row in the columns whose rows are of one size.
  std::uint64_t dense_row_bytes() const;

  // Whether a ScatterDecoder can decode, and should: all rows are of one size, and most of their bytes lie together.
  bool scatters() const;

 private:
  friend class BatchBuilder;
  friend class ScatterDecoder;
  struct Worker;  // a PartDecoder and what it learned about the records and their sizes

  std::unique_ptr<Worker> borrow_worker();
  void return_worker(std::unique_ptr<Worker> worker);

  const DecodePlan plan_;
  const bool has_views_;
  // Of each feature, in the last batch: the bytes of a ragged row on average, and of every row where they are as many.
  std::vector<std::atomic<std::uint64_t>> ragged_row_bytes_, even_row_bytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

// A batch while it is decoded, a run of rows at a time: runs may come in any order and from several threads.
//
// Dense rows go straight to their place. So do ragged rows as long as all are of one size: sequences often are. The
// ragged values of any other run are decoded into memory that its thread uses again and again, and are copied to their
// place while they are near, as soon as the runs before have theirs; a run that comes too early keeps its memory, and
// is copied by whoever brings the run before it. A run that is the whole batch is not copied at all. The place is in
// memory sized by what earlier batches held: where that is too small, or rows were not of the size that was foreseen,
// finish() joins.
class BatchBuilder {
 public:
  BatchBuilder(BatchDecoder& decoder, std::size_t rows, const Outputs& outputs);
  ~BatchBuilder();

  // Decodes the records of `chunks`, whose first is row `first_row`. Thread-safe, for runs that do not overlap.
  void decode(std::span<const Chunk> chunks, std::size_t first_row);

  // The batch of the first `rows` rows, all of which are decoded. What was decoded behind them does not count, and
  // other threads may still be at it.
  DecodedBatch finish(std::size_t rows, const Runner& run);

  // Memory that the runs decoded so far hold, besides what all rows were given at the start.
  std::size_t held_bytes();

 private:
  friend class ScatterDecoder;
  struct Part;  // the ragged values of a run of rows, or what is wrong with it

  void preallocate_even_columns();
  void aim(std::span<ColumnPart> columns, std::size_t first_row, std::size_t rows) const;
  std::vector<std::span<std::byte>> views_of(std::span<ColumnPart> columns, std::size_t first_row,
                                             std::size_t rows) const;
  void place(std::unique_ptr<Part> part, BatchDecoder::Worker& worker, std::size_t held);
  bool reserve(Part& part);
  bool gathers(std::size_t feature) const;
  void copy(const Part& part, std::size_t feature, const std::byte* values) const;
  void join(std::size_t feature, std::span<const std::unique_ptr<Part>> parts, DecodedColumn& column,
            const Runner& run) const;
  void learn_sizes(std::size_t feature, std::span<const std::unique_ptr<Part>> parts, std::uint64_t bytes,
                   std::size_t rows) const;

  BatchDecoder& decoder_;
  const std::size_t rows_;
  const Outputs outputs_;
  std::vector<DecodedColumn> columns_;
  std::vector<std::size_t> row_bytes_;  // of a ragged column, where they are foreseen, or 0
  bool is_nontemporal_ = false;         // its values are written around the caches
  std::int32_t default_number_ = 0;
  ViewBuffers buffers_;

  std::mutex mutex_;                                    // guards what follows
  std::map<std::size_t, std::unique_ptr<Part>> parts_;  // by their first row
  std::size_t placed_rows_ = 0;                         // whose ragged values have a place
  std::vector<std::size_t> placed_bytes_;               // of each ragged column
  std::size_t held_bytes_ = 0;
};

struct BatchDecoder::Worker {
  explicit Worker(const DecodePlan& plan) : decoder(plan), columns(plan.features.size()) {}
  PartDecoder decoder;
  std::vector<RecordRef> records;
  std::vector<ColumnPart> columns;
};

struct BatchBuilder::Part {
  struct Ragged {
    SharedBuffer values;  // of its own, unless they are placed
    std::size_t bytes = 0;
    bool placed = false;
    std::size_t place = 0;  // in the column, with `placed`
    std::vector<std::int64_t> lengths, step_lengths;
  };
  std::size_t first_row = 0;
  std::size_t rows = 0;
  DecodeFault fault;
  std::vector<Ragged> columns;  // one per feature; empty for a dense one
};

}  // namespace penstock
