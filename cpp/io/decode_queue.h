// Decodes batches ahead of the consumer: they are submitted in order, decoded side by side, and come out in order.
//
// submit() and next() belong to one consumer. Threads start with the first batch and end with the object.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "core/example/batch.h"

namespace penstock {

class DecodeQueue {
 public:
  DecodeQueue(std::shared_ptr<BatchDecoder> decoder, std::size_t threads);
  ~DecodeQueue();
  DecodeQueue(const DecodeQueue&) = delete;
  DecodeQueue& operator=(const DecodeQueue&) = delete;

  // `outputs` as in BatchDecoder::decode(); the memory must last until the batch is taken.
  void submit(std::vector<Chunk> chunks, Outputs outputs);

  // Batches submitted and not yet taken.
  std::size_t pending() const;

  // The oldest batch, or nothing after `patience`. Throws what decoding threw.
  std::optional<DecodedBatch> next(std::chrono::milliseconds patience);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
