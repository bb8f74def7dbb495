// Decodes the records of chunks into whole columns, in one part or in several side by side.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
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

// Thread-safe: decode() may run on several threads at once.
class BatchDecoder {
 public:
  explicit BatchDecoder(DecodePlan plan);
  ~BatchDecoder();

  // `outputs` is empty or has an entry per feature.
  DecodedBatch decode(const std::vector<Chunk>& chunks, const Outputs& outputs, std::size_t parts, const Runner& run);

  const DecodePlan& plan() const { return plan_; }

 private:
  struct Worker;  // a PartDecoder and what it learned about sizes

  void join_ragged(std::vector<std::unique_ptr<Worker>>& workers, DecodedBatch& batch, std::size_t parts,
                   const Runner& run);
  std::unique_ptr<Worker> borrow_worker();
  void return_worker(std::unique_ptr<Worker> worker);

  const DecodePlan plan_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

}  // namespace penstock
