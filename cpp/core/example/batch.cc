#include "core/example/batch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

namespace penstock {
namespace {

// Where the records of many chunks lie, and the buffers that they lie in.
struct Records {
  std::vector<RecordRef> refs;
  std::vector<SharedBuffer> buffers;
};

// A view counts its offset with 31 bits: of a larger buffer, what lies behind them is copied for it.
constexpr std::uint64_t kLargestViewed = 0x7FFFFFFF;

RecordRef copied(wire::Bytes payload, std::vector<SharedBuffer>& buffers) {
  const auto buffer = std::make_shared<Buffer>(payload.size);
  std::memcpy(buffer->data(), payload.data, payload.size);
  buffers.push_back(buffer);
  return {{buffer->data(), payload.size}, {buffer->data(), static_cast<std::int32_t>(buffers.size() - 1)}};
}

Records gather(const std::vector<Chunk>& chunks, bool views) {
  Records records;
  std::size_t total = 0;
  for (const Chunk& chunk : chunks) total += chunk.size();
  records.refs.reserve(total);
  for (const Chunk& chunk : chunks) {
    if (records.buffers.empty() || records.buffers.back() != chunk.buffer) records.buffers.push_back(chunk.buffer);
    const std::byte* base = chunk.buffer->data();
    const ViewSource source{base, static_cast<std::int32_t>(records.buffers.size() - 1)};
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const Span span = chunk.span(i);
      const wire::Bytes payload{base + span.offset, static_cast<std::size_t>(span.length)};
      if (views && span.offset + span.length > kLargestViewed && payload.size - 1 < kLargestExample)
        records.refs.push_back(copied(payload, records.buffers));
      else
        records.refs.push_back({payload, source});
    }
  }
  return records;
}

// A shape is the schema's and may be of any size: what no memory can hold must not wrap around to something small.
std::size_t dense_bytes(std::size_t rows, std::uint64_t item_bytes) {
  if (item_bytes != 0 && rows > std::numeric_limits<std::size_t>::max() / item_bytes) throw std::bad_alloc();
  return rows * static_cast<std::size_t>(item_bytes);
}

std::int64_t* as_int64(const SharedBuffer& buffer) { return reinterpret_cast<std::int64_t*>(buffer->data()); }

}  // namespace

struct BatchDecoder::Worker {
  explicit Worker(const DecodePlan& plan) : decoder(plan), columns(plan.features.size()) {}
  PartDecoder decoder;
  std::vector<ColumnPart> columns;
  DecodeFault fault;
};

BatchDecoder::BatchDecoder(DecodePlan plan) : plan_(std::move(plan)) {}
BatchDecoder::~BatchDecoder() = default;

std::unique_ptr<BatchDecoder::Worker> BatchDecoder::borrow_worker() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return std::make_unique<Worker>(plan_);
  auto worker = std::move(idle_.back());
  idle_.pop_back();
  return worker;
}

void BatchDecoder::return_worker(std::unique_ptr<Worker> worker) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
}

DecodedBatch BatchDecoder::decode(const std::vector<Chunk>& chunks, const Outputs& outputs, std::size_t parts,
                                  const Runner& run) {
  const auto is_view = [](const FeaturePlan& plan) { return plan.element == Element::kView; };
  Records records = gather(chunks, std::any_of(plan_.features.begin(), plan_.features.end(), is_view));
  DecodedBatch batch;
  batch.rows = records.refs.size();
  batch.columns.resize(plan_.features.size());
  const std::size_t rows = batch.rows;

  for (std::size_t f = 0; f < plan_.features.size(); ++f) {
    const FeaturePlan& plan = plan_.features[f];
    DecodedColumn& column = batch.columns[f];
    if (plan.has_mask()) column.valid = acquire_buffer(rows);
    if (plan.ragged || plan.sequence()) continue;
    column.items = rows;
    if (outputs.empty() || outputs[f] == nullptr) column.values = acquire_buffer(dense_bytes(rows, plan.item_bytes()));
  }

  // Defaults of bytes features are views into a buffer that stands behind those of the records.
  const auto default_number = static_cast<std::int32_t>(records.buffers.size());
  if (plan_.default_bytes) records.buffers.push_back(plan_.default_bytes);
  ExtraBuffers extra(static_cast<std::int32_t>(records.buffers.size()));

  parts = std::max<std::size_t>(1, std::min(parts, rows));
  std::vector<std::unique_ptr<Worker>> workers(parts);
  const auto first_row = [&](std::size_t part) { return rows * part / parts; };
  run(parts, [&](std::size_t part) {
    workers[part] = borrow_worker();
    Worker& worker = *workers[part];
    const std::size_t begin = first_row(part), end = first_row(part + 1);
    for (std::size_t f = 0; f < plan_.features.size(); ++f) {
      ColumnPart& column = worker.columns[f];
      const DecodedColumn& target = batch.columns[f];
      column.dense = !outputs.empty() && outputs[f] != nullptr ? outputs[f]
                     : target.values                           ? target.values->data()
                                                               : nullptr;
      column.valid = target.valid ? reinterpret_cast<std::uint8_t*>(target.valid->data()) : nullptr;
      column.lengths.clear();
      column.step_lengths.clear();
    }
    worker.fault =
        worker.decoder.decode({records.refs.data() + begin, end - begin}, begin, worker.columns, extra, default_number);
  });

  for (auto& worker : workers)
    if (worker->fault.fault != ExampleFault::kNone && batch.fault.fault == ExampleFault::kNone)
      batch.fault = worker->fault;
  if (batch.fault.fault == ExampleFault::kNone) {
    join_ragged(workers, batch, parts, run);
    batch.buffers = std::move(records.buffers);
    batch.buffers.insert(batch.buffers.end(), extra.buffers().begin(), extra.buffers().end());
  }
  for (auto& worker : workers) {
    for (ColumnPart& column : worker->columns) column.values.reset();
    return_worker(std::move(worker));
  }
  return batch;
}

// Puts the parts of ragged columns behind one another: a part alone is taken as it is, several are copied together.
void BatchDecoder::join_ragged(std::vector<std::unique_ptr<Worker>>& workers, DecodedBatch& batch, std::size_t parts,
                               const Runner& run) {
  for (std::size_t f = 0; f < plan_.features.size(); ++f) {
    const FeaturePlan& plan = plan_.features[f];
    if (!plan.ragged && !plan.sequence()) continue;
    DecodedColumn& column = batch.columns[f];
    const auto join = [&](std::vector<std::int64_t> ColumnPart::* lengths, SharedBuffer& offsets) {
      std::size_t count = 0;
      for (const auto& worker : workers) count += (worker->columns[f].*lengths).size();
      offsets = acquire_buffer(8 * (count + 1));
      std::int64_t* out = as_int64(offsets);
      std::int64_t sum = 0;
      *out = 0;
      for (const auto& worker : workers)
        for (const std::int64_t length : worker->columns[f].*lengths) *++out = sum += length;
      return count;
    };
    join(&ColumnPart::lengths, column.offsets);
    if (plan.sequence() && plan.ragged) column.steps = join(&ColumnPart::step_lengths, column.step_offsets);
    std::vector<std::size_t> starts(parts + 1, 0);
    for (std::size_t part = 0; part < parts; ++part)
      starts[part + 1] = starts[part] + workers[part]->columns[f].values.size();
    column.items = starts[parts] / plan.item_bytes();
    for (auto& worker : workers) worker->columns[f].values.expect(starts[parts] / parts);
    if (parts == 1) {
      column.values = workers[0]->columns[f].values.release();
      if (!column.values) column.values = acquire_buffer(0);
      continue;
    }
    column.values = acquire_buffer(starts[parts]);
    run(parts, [&](std::size_t part) {
      GrowingBytes& values = workers[part]->columns[f].values;
      if (values.size() != 0) std::memcpy(column.values->data() + starts[part], values.data(), values.size());
    });
  }
}

}  // namespace penstock
