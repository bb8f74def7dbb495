// Random plans, and decoded columns that are compared and encoded again.
#pragma once

#include <string>
#include <vector>

#include "core/example/batch.h"
#include "core/example/encode.h"
#include "tests/random.h"

namespace penstock::tests {

DecodePlan random_plan(Random& random);

// Whether two batches have the same values, wherever their views point. Describes the `difference`.
bool same_batch(const DecodePlan& plan, const DecodedBatch& a, const DecodedBatch& b, std::string& difference);

// A batch as columns to encode, copied to memory of exactly the right size.
class EncodableBatch {
 public:
  EncodableBatch(const DecodePlan& plan, const DecodedBatch& batch);

  std::span<const EncodeColumn> columns() const { return columns_; }

  // Corrupts an offset, a mask or a view of some column.
  void corrupt(Random& random);

 private:
  struct Memory {
    std::vector<std::byte> values;
    std::vector<std::int64_t> offsets, step_offsets;
    std::vector<std::uint8_t> valid;
  };
  std::vector<Memory> memory_;
  std::vector<EncodeColumn> columns_;
};

}  // namespace penstock::tests
