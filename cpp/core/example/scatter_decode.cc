#include "core/example/scatter_decode.h"

#include <utility>

namespace penstock {

ScatterDecoder::ScatterDecoder(BatchDecoder& decoder) : worker_(decoder) { worker_->decoder.write_by(&copies_); }

ScatterDecoder::~ScatterDecoder() { worker_->decoder.write_by(nullptr); }

void ScatterDecoder::decode(wire::Bytes payload, BatchBuilder& batch, std::size_t row) {
  const RecordRef record{payload, {}};
  batch.set_outputs(worker_->columns, row, 1);
  const DecodeFault fault =
      worker_->decoder.decode({&record, 1}, row, worker_->columns, batch.buffers_, batch.default_number_);
  if (fault.fault == ExampleFault::kNone) return;
  auto part = std::make_unique<BatchBuilder::Part>();
  part->first_row = row;
  part->rows = 1;
  part->fault = fault;
  const std::lock_guard lock(batch.mutex_);
  batch.parts_.emplace(row, std::move(part));
}

}  // namespace penstock
