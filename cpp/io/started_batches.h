// The batches of a stream that are started and not yet taken: which have space, which rows have arrived, which are
// whole.
//
// Not thread-safe, apart from PendingBatch::builder() and held_bytes: its owner has a mutex. Decoding needs no mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/example/batch.h"
#include "io/block_reader.h"

namespace penstock {

// A run of rows of a batch that are consecutive in a file.
struct Run {
  std::size_t first_row = 0;  // in the batch
  FilePosition begin, end;
};

// A batch whose rows are still arriving.
class PendingBatch {
 public:
  // The first thread with rows of the batch builds it, without the lock that all threads share.
  BatchBuilder& builder(BatchDecoder& decoder, std::size_t size) {
    std::call_once(once_, [&] { builder_.emplace(decoder, size, Outputs{}, std::move(memory)); });
    return *builder_;
  }
  BatchBuilder& builder() { return *builder_; }

  // Guarded by the owner's mutex.
  BatchMemory memory;
  std::size_t rows = 0;  // decoded so far
  std::vector<Run> runs;
  std::size_t held_bytes = 0;
  std::uint64_t last_block = 0;  // with rows of it, so far
  bool is_finishing = false;     // all rows are decoded
  std::optional<DecodedBatch> whole;

 private:
  std::once_flag once_;
  std::optional<BatchBuilder> builder_;
};

using SharedBatch = std::shared_ptr<PendingBatch>;

// Rows of a chunk that belong to one batch.
struct Piece {
  SharedBatch batch;
  Chunk chunk;
  std::size_t row;  // in the batch
};

// A whole batch that the consumer has taken and not returned.
struct TakenBatch {
  DecodedBatch batch;
  std::vector<Run> runs;
  std::size_t held_bytes;
};

// A block, and how far it is decoded.
struct BlockProgress {
  Block block;
  std::uint64_t row;      // next row of the stream
  std::size_t event = 0;  // that contains it
  std::size_t from = 0;   // its index in the event
};

class StartedBatches {
 public:
  // `max_bytes` is how much they may hold before no more are started.
  StartedBatches(std::shared_ptr<BatchDecoder> decoder, std::size_t rows, std::size_t max_bytes)
      : decoder_(std::move(decoder)), rows_(rows), max_bytes_(max_bytes), dense_bytes_(decoder_->dense_bytes(rows)) {}

  // The number of the next batch to take.
  std::uint64_t next() const { return next_; }

  // There is always space for the batch that the consumer waits for, and the next.
  bool has_space(std::uint64_t batch) const {
    return started_.contains(batch) || batch <= next_ + 1 || held_bytes < max_bytes_;
  }

  // Returns the next rows of a block, up to the first ones that are not in its successive chunks, or for which there is
  // no space.
  std::vector<Piece> admit(BlockProgress& progress);

  // Counts rows as decoded; returns the batches that have all of theirs, to be finished.
  std::vector<SharedBatch> record(std::vector<Piece>& pieces, const Block& block);

  // Whether the next batch is whole, and, where so many blocks are done, no earlier block can end the stream before its
  // last row.
  bool is_ready(std::uint64_t done_blocks) const {
    const PendingBatch* batch = find_next();
    return batch != nullptr && batch->whole && batch->last_block <= done_blocks;
  }
  bool is_finishing() const {
    const PendingBatch* batch = find_next();
    return batch != nullptr && batch->is_finishing && !batch->whole;
  }

  // Takes the first rows of the next batch, all of which are decoded.
  TakenBatch take(std::size_t rows);

  // By all batches, until the consumer has returned them; changed without the mutex, too.
  std::atomic<std::size_t> held_bytes = 0;

 private:
  SharedBatch find_or_start(std::uint64_t batch);
  BatchMemory take_memory();
  const PendingBatch* find_next() const {
    const auto found = started_.find(next_);
    return found == started_.end() ? nullptr : found->second.get();
  }

  const std::shared_ptr<BatchDecoder> decoder_;
  const std::size_t rows_;
  const std::size_t max_bytes_;
  const std::size_t dense_bytes_;  // of a batch, in memory that small ones share
  std::map<std::uint64_t, SharedBatch> started_;
  std::uint64_t next_ = 0;
  BatchMemory memory_;  // for the next small batches
};

}  // namespace penstock
