// Batches of decoded records out of a list of local files: each block is decoded by the thread that has just read and
// verified it, straight into the batches that its rows belong to. A consumer that does little but ask for batches is
// one of these threads while it waits; one that does more has them all besides it.
//
// Batches come out in order. Memory stays bounded where the consumer is slow: beyond the batch that it waits for and
// the next one, no batch is begun while those that are under way hold more than a few blocks' worth.
//
// Damage ends the stream: the rows before it come as a last, shorter batch, then the fault. A record that does not
// decode makes its batch one that has a fault.
//
// next() is for one consumer at a time; forks are as for FileRecords.
#pragma once

#include <chrono>
#include <memory>
#include <variant>

#include "core/example/batch.h"
#include "io/block_reader.h"
#include "io/file_records.h"

namespace penstock {

struct FaultInFile {
  std::size_t file = 0;
  Fault fault;
};

using NextBatch = std::variant<DecodedBatch, FaultInFile, EndOfRecords, NotYet>;

class FileBatches {
 public:
  FileBatches(std::vector<std::filesystem::path> paths, std::shared_ptr<BatchDecoder> decoder, std::size_t batch_rows,
              const BlockReaderOptions& options);
  ~FileBatches();
  FileBatches(const FileBatches&) = delete;
  FileBatches& operator=(const FileBatches&) = delete;

  // The next batch, the fault that ends the stream, or its end; NotYet after `patience`. Throws as FileRecords does.
  NextBatch next(std::chrono::milliseconds timeout);

  // Where the first row stands that was not given out in a good batch: what a reader would start with to go on.
  FilePosition position() const;

  // Where a row of the batch stands that next() gave last, good or not; the offset is that of the first row of its run.
  FilePosition position_of(std::size_t row) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
