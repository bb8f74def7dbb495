// Decodes records in the order in which they are read, for batches in which they stand in another.
#pragma once

#include <cstddef>
#include <memory>

#include "core/example/batch.h"
#include "core/nontemporal_copy.h"

namespace penstock {

// Decodes records one by one, in any order, each to a row of any batch of a decoder that scatters(). The batches are
// large, and are looked at later. Belongs to one thread; others may look at the rows when it is gone.
class ScatterDecoder {
 public:
  explicit ScatterDecoder(BatchDecoder& decoder);
  ~ScatterDecoder();
  ScatterDecoder(const ScatterDecoder&) = delete;
  ScatterDecoder& operator=(const ScatterDecoder&) = delete;

  void decode(wire::Bytes payload, BatchBuilder& batch, std::size_t row);

 private:
  BatchDecoder& decoder_;
  std::unique_ptr<BatchDecoder::Worker> worker_;
  NontemporalCopies copies_;
};

}  // namespace penstock
