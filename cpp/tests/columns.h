// Random plans, and what decoded columns are good for: being compared, and being encoded again.
#pragma once

#include <string>
#include <vector>

#include "core/example/batch.h"
#include "core/example/encode.h"
#include "tests/random.h"

namespace penstock::tests {

DecodePlan random_plan(Random& random);

// Whether two batches hold the same values, wherever their views point. Says in `difference` what differs.
bool same_batch(const DecodePlan& plan, const DecodedBatch& a, const DecodedBatch& b, std::string& difference);

// A batch as columns to encode, copied to memory of exactly the right size.
class EncodableBatch {
 public:
  EncodableBatch(const DecodePlan& plan, const DecodedBatch& batch);

  std::span<const EncodeColumn> columns() const { return columns_; }

  // Makes an offset, a mask or a view of some column wrong.
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
