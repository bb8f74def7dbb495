// Decodes records in the order in which they are read, into batches with another order.
#pragma once

#include <cstddef>
#include <memory>

#include "core/example/batch.h"
#include "core/nontemporal_copy.h"

namespace penstock {

// Decodes records one by one, in any order, each into a row of any batch of a decoder that scatters(). Writes past the
// caches, because the batches are large and read later. For one thread; others may read the rows after the destructor.
class ScatterDecoder {
 public:
  explicit ScatterDecoder(BatchDecoder& decoder);
  ~ScatterDecoder();
  ScatterDecoder(const ScatterDecoder&) = delete;
  ScatterDecoder& operator=(const ScatterDecoder&) = delete;

  void decode(wire::Bytes payload, BatchBuilder& batch, std::size_t row);

 private:
  const BatchDecoder::BorrowedWorker worker_;
  NontemporalCopies copies_;
};

}  // namespace penstock
