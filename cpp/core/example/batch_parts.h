// What a batch is decoded by, and from: for the files that decode batches alone.
#pragma once

#include <vector>

#include "core/example/batch.h"

namespace penstock {

struct BatchDecoder::Worker {
  explicit Worker(const DecodePlan& plan) : decoder(plan), columns(plan.features.size()) {}
  PartDecoder decoder;
  std::vector<RecordRef> records;
  std::vector<ColumnPart> columns;
};

struct BatchBuilder::Part {
  struct Ragged {
    SharedBuffer values;  // of its own, unless they are placed
    std::size_t bytes = 0;
    bool placed = false;
    std::size_t place = 0;  // in the column, with `placed`
    std::vector<std::int64_t> lengths, step_lengths;
  };
  std::size_t first_row = 0;
  std::size_t rows = 0;
  DecodeFault fault;
  std::vector<Ragged> columns;  // one per feature; empty for a dense one
};

}  // namespace penstock
