// Decodes batches ahead of the consumer, in parallel. They are submitted and returned in order.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/example/batch.h"
#include "io/ordered_jobs.h"

namespace penstock {

struct DecodeJob {
  std::vector<Chunk> chunks;
  Outputs outputs;  // as in BatchDecoder::decode(); must stay valid until the batch is taken
  DecodedBatch batch;
};

class DecodeQueue : public OrderedJobs<DecodeJob> {
 public:
  DecodeQueue(std::shared_ptr<BatchDecoder> decoder, std::size_t threads)
      : OrderedJobs(threads, [decoder = std::move(decoder)](DecodeJob& job) {
          job.batch = decoder->decode(job.chunks, job.outputs, 1, run_here);
          job.chunks.clear();
        }) {}
};

}  // namespace penstock
