// Decodes one record at a time. Scalars of one type share an array, since an array for each would cost more than the
// record.
#pragma once

#include <cstddef>
#include <vector>

#include "bindings/decoder.h"

namespace penstock::bindings {

struct DecodedRow {
  DecodedBatch batch;                 // of one row
  std::vector<SharedBuffer> scalars;  // one per group

  bool is_valid() const { return batch.fault.fault == ExampleFault::kNone; }
};

// Thread-safe.
class RowDecoder {
 public:
  // `scalars` are groups of features: dense scalar numbers, of one type in each group. `decoder` must outlive this
  // object.
  RowDecoder(const Decoder& decoder, std::vector<std::vector<std::size_t>> scalars);

  // Decodes the record in a frame. Does not need the GIL.
  DecodedRow decode(SharedBuffer frame, std::size_t payload_bytes) const;

  // Returns (scalars, columns, buffers): an array for each group, and for each feature its column as in
  // DecodedColumns::column(), or None if it is in a group.
  nb::tuple to_python(DecodedRow row) const;

 private:
  const Decoder& decoder_;
  std::vector<std::vector<std::size_t>> scalars_;
  std::vector<bool> grouped_;  // per feature, whether it is in a group
};

}  // namespace penstock::bindings
