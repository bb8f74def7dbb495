// Decodes one record at a time: scalars of one type share an array, for one each would cost more than the record.
#pragma once

#include <cstddef>
#include <vector>

#include "bindings/decoder.h"

namespace penstock::bindings {

struct DecodedRow {
  DecodedBatch batch;                 // of one row
  std::vector<SharedBuffer> scalars;  // of each group

  bool is_valid() const { return batch.fault.fault == ExampleFault::kNone; }
};

// Thread-safe.
class RowDecoder {
 public:
  // `scalars` are groups of features, dense numbers without shape and of one type in each; `decoder` must last.
  RowDecoder(const Decoder& decoder, std::vector<std::vector<std::size_t>> scalars);

  // Decodes the record in a frame that holds it. Needs no GIL.
  DecodedRow decode(SharedBuffer frame, std::size_t payload_bytes) const;

  // (scalars, columns, buffers): an array for each group, and for each feature what Decoder::to_python() answers, or
  // None where it is in a group.
  nb::tuple to_python(const DecodedRow& row) const;

 private:
  const Decoder& decoder_;
  std::vector<std::vector<std::size_t>> scalars_;
  std::vector<bool> grouped_;  // of each feature, whether it is in a group
};

}  // namespace penstock::bindings
