// Batches of decoded records from a list of local files. The thread that has read and verified a block decodes it, into
// the batches that its rows belong to. A consumer that does little but ask for batches is one of these threads while it
// waits; otherwise all threads are separate.
//
// Batches come in order. Memory is bounded if the consumer is slow: beyond the batch that it waits for and the next
// one, no batch is started while those in progress hold more than 4 * (threads + 1) blocks' worth.
//
// Threads meet a few times per block, not per batch: they start the batches of a block, and report their rows,
// together. The consumer takes all batches that are ready at once. It is woken only if it sleeps, and threads that wait
// for it only when half of the memory is free. The columns of small batches share memory, which is recycled.
//
// Damage ends the stream: the rows before it form a last, shorter batch, followed by the fault. A record that does not
// decode gives its batch a fault.
//
// next() is for one consumer at a time. Forks are handled as in FileRecords.
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

  // Returns the next batch, the fault that ends the stream, or its end; NotYet after `timeout`. Throws as FileRecords
  // does.
  NextBatch next(std::chrono::milliseconds timeout);

  // The position after the last valid batch that was returned: where a new reader would continue.
  FilePosition position() const;

  // The position of a row of the last batch, valid or not; the offset is that of the first row of its run.
  FilePosition position_of(std::size_t row) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
