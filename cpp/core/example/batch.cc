#include "core/example/batch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <utility>

namespace penstock {
namespace {

// View offsets have 31 bits: values beyond them, in a larger buffer, are copied.
constexpr std::uint64_t kLargestViewed = 0x7FFFFFFF;

RecordRef copied(wire::Bytes payload, ViewBuffers& buffers) {
  const auto buffer = std::make_shared<Buffer>(payload.size);
  std::memcpy(buffer->data(), payload.data, payload.size);
  return {{buffer->data(), payload.size}, {buffer->data(), buffers.add(buffer)}};
}

// Columns of at most this size share memory.
constexpr std::size_t kMaxSharedBytes = std::size_t{64} << 10;

// A larger batch has left the near caches before it is read, and its memory before it is written again.
constexpr std::uint64_t kMaxNearBytes = std::uint64_t{1} << 20;

// Ragged columns that are expected to be larger are joined at the end: a guess must not allocate much memory.
constexpr std::uint64_t kMaxExpectedBytes = std::uint64_t{256} << 20;

std::int64_t* as_int64(const SharedBuffer& buffer) { return reinterpret_cast<std::int64_t*>(buffer->data()); }

}  // namespace

BatchBuilder::BatchBuilder(BatchDecoder& decoder, std::size_t rows, const Outputs& outputs, BatchMemory memory)
    : decoder_(decoder),
      rows_(rows),
      outputs_(outputs),
      columns_(decoder.plan().features.size()),
      row_bytes_(columns_.size()),
      placed_bytes_(columns_.size()) {
  const DecodePlan& plan = decoder.plan();
  allocate_dense_columns(std::move(memory));
  if (plan.default_bytes) default_number_ = buffers_.add(plan.default_bytes);
  preallocate_even_columns();
  const std::uint64_t row_bytes = std::accumulate(row_bytes_.begin(), row_bytes_.end(), decoder.dense_row_bytes());
  is_nontemporal_ = rows != 0 && row_bytes > kMaxNearBytes / rows;
}

// Columns of one allocation are made and released several times as fast as columns with memory of their own, and by
// threads that do not meet in the allocator. Large ones have their own, so that each can be released.
void BatchBuilder::allocate_dense_columns(BatchMemory memory) {
  const DecodePlan& plan = decoder_.plan();
  const auto for_each = [&](auto visit) {
    for (std::size_t f = 0; f < columns_.size(); ++f) {
      const FeaturePlan& feature = plan.features[f];
      if (feature.has_mask()) visit(columns_[f].valid, rows_);
      if (feature.dense() && (outputs_.empty() || outputs_[f] == nullptr))
        visit(columns_[f].values, feature.bytes_of(rows_));
    }
  };
  const std::size_t most = memory.buffer ? std::numeric_limits<std::size_t>::max() : kMaxSharedBytes;
  if (!memory.buffer) {
    std::size_t shared = 0;
    for_each([&](const SharedBuffer&, std::size_t size) { shared += size <= most ? aligned_size(size) : 0; });
    memory.buffer = acquire_buffer(shared);
  }
  const auto array = std::make_shared<BufferArray>(std::move(memory.buffer), memory.offset, 2 * columns_.size());
  for_each([&](SharedBuffer& buffer, std::size_t size) {
    buffer = size <= most ? BufferArray::take(array, size) : acquire_buffer(size);
  });
}

void BatchBuilder::preallocate_even_columns() {
  for (std::size_t f = 0; f < columns_.size(); ++f) {
    const std::uint64_t row_bytes = decoder_.even_row_bytes_[f];
    if (row_bytes == 0 || rows_ == 0 || row_bytes > kMaxExpectedBytes / rows_) continue;
    row_bytes_[f] = static_cast<std::size_t>(row_bytes);
    columns_[f].values = acquire_buffer(rows_ * row_bytes_[f]);
  }
}

BatchBuilder::~BatchBuilder() = default;

void BatchBuilder::decode(std::span<const Chunk> chunks, std::size_t first_row) {
  const BatchDecoder::BorrowedWorker worker(decoder_);
  decode(chunks, first_row, *worker);
}

void BatchBuilder::decode(std::span<const Chunk> chunks, std::size_t first_row, BatchDecoder::Worker& worker) {
  const std::size_t rows = rows_of(chunks);
  worker.records.clear();
  std::size_t held = 0;
  const bool views = decoder_.has_views_;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    const Chunk& chunk = chunks[c];
    const std::byte* base = chunk.buffer->data();
    const ViewSource source{base, number_of_chunk(c)};
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const Span span = chunk.span(i);
      const wire::Bytes payload{base + span.offset, static_cast<std::size_t>(span.length)};
      if (views && span.offset + span.length > kLargestViewed && payload.size - 1 < kLargestExample)
        worker.records.push_back(copied(payload, buffers_));
      else
        worker.records.push_back({payload, source});
    }
  }

  set_outputs(worker.columns, first_row, rows);
  DecodeFault fault;
  {
    NontemporalCopies copies;
    worker.decoder.write_by(is_nontemporal_ ? &copies : nullptr);
    fault = worker.decoder.decode(worker.records, first_row, worker.columns, buffers_, default_number_);
    worker.decoder.write_by(nullptr);
  }
  const bool good = fault.fault == ExampleFault::kNone;
  if (good && views) held += assign_view_buffers(views_of(worker.columns, first_row, rows), chunks, buffers_);
  if (good && decoder_.all_dense_) {  // nothing to join
    if (held == 0) return;
    const std::lock_guard lock(mutex_);
    held_bytes_ += held;
    return;
  }
  auto part = std::make_unique<Part>();
  part->first_row = first_row;
  part->rows = rows;
  part->fault = fault;
  part->columns.resize(columns_.size());
  if (part->fault.fault == ExampleFault::kNone) {
    for (std::size_t f = 0; f < columns_.size(); ++f) {
      if (decoder_.plan_.features[f].dense()) continue;
      ColumnPart& column = worker.columns[f];
      Part::Ragged& ragged = part->columns[f];
      ragged.bytes = column.values.size();
      if (row_bytes_[f] == 0) {
        column.values.expect(ragged.bytes);
      } else if (column.values.is_borrowed() && ragged.bytes == part->rows * row_bytes_[f]) {
        ragged.placed = true;
        ragged.place = first_row * row_bytes_[f];
      } else {
        ragged.values = column.values.release();
      }
      ragged.lengths = column.lengths;
      ragged.step_lengths = column.step_lengths;
      held += ragged.bytes + 8 * (ragged.lengths.size() + ragged.step_lengths.size());
    }
  }
  place_part(std::move(part), worker, held);
}

// Sets where the values of a run are written.
void BatchBuilder::set_outputs(std::span<ColumnPart> columns, std::size_t first_row, std::size_t rows) const {
  for (std::size_t f = 0; f < columns.size(); ++f) {
    ColumnPart& column = columns[f];
    const DecodedColumn& target = columns_[f];
    const bool given = !outputs_.empty() && outputs_[f] != nullptr;
    const bool dense = decoder_.plan_.features[f].dense();
    column.dense = !dense ? nullptr : given ? outputs_[f] : target.values->data();
    column.valid = target.valid ? reinterpret_cast<std::uint8_t*>(target.valid->data()) : nullptr;
    if (row_bytes_[f] != 0)
      column.values.borrow(target.values->data() + first_row * row_bytes_[f], rows * row_bytes_[f]);
    else
      column.values.reset();
    column.lengths.clear();
    column.step_lengths.clear();
  }
}

// Returns the views among the values of a run.
std::vector<std::span<std::byte>> BatchBuilder::views_of(std::span<ColumnPart> columns, std::size_t first_row,
                                                         std::size_t rows) const {
  std::vector<std::span<std::byte>> arrays;
  for (std::size_t f = 0; f < columns.size(); ++f) {
    const FeaturePlan& plan = decoder_.plan_.features[f];
    if (plan.element != Element::kView) continue;
    const auto row = static_cast<std::size_t>(plan.item_bytes());
    if (plan.dense())
      arrays.emplace_back(columns[f].dense + first_row * row, rows * row);
    else
      arrays.emplace_back(columns[f].values.data(), columns[f].values.size());
  }
  return arrays;
}

// Copies ragged values to their final position, if it is known: those of `part`, and of later parts that waited for it.
void BatchBuilder::place_part(std::unique_ptr<Part> part, BatchDecoder::Worker& worker, std::size_t held) {
  std::unique_lock lock(mutex_);
  held_bytes_ += held;
  Part* next = parts_.emplace(part->first_row, std::move(part)).first->second.get();
  if (next->rows == rows_ || next->first_row != placed_rows_ || !reserve(*next)) {
    for (std::size_t f = 0; f < columns_.size(); ++f)
      if (is_collected(f)) next->columns[f].values = worker.columns[f].values.release();
    return;
  }
  lock.unlock();
  for (std::size_t f = 0; f < columns_.size(); ++f)
    if (is_collected(f)) copy(*next, f, worker.columns[f].values.data());
  for (;;) {
    lock.lock();
    const auto waiting = parts_.find(placed_rows_);
    if (waiting == parts_.end() || !reserve(*waiting->second)) return;
    lock.unlock();
    for (std::size_t f = 0; f < columns_.size(); ++f) {
      if (!is_collected(f)) continue;
      Part::Ragged& ragged = waiting->second->columns[f];
      if (ragged.values) copy(*waiting->second, f, ragged.values->data());
      ragged.values.reset();
    }
  }
}

// Requires the mutex. False if the values do not fit, or the part has a fault.
bool BatchBuilder::reserve(Part& part) {
  if (part.fault.fault != ExampleFault::kNone) return false;
  for (std::size_t f = 0; f < columns_.size(); ++f) {
    if (!is_collected(f)) continue;
    SharedBuffer& values = columns_[f].values;
    if (!values) {
      const std::uint64_t expected = decoder_.ragged_row_bytes_[f] * rows_;
      values = acquire_buffer(expected < kMaxExpectedBytes ? static_cast<std::size_t>(expected + expected / 8) : 0);
    }
    if (part.columns[f].bytes > values->capacity() - placed_bytes_[f]) return false;
  }
  for (std::size_t f = 0; f < columns_.size(); ++f) {
    if (!is_collected(f)) continue;
    part.columns[f].placed = true;
    part.columns[f].place = placed_bytes_[f];
    placed_bytes_[f] += part.columns[f].bytes;
  }
  placed_rows_ += part.rows;
  return true;
}

// Whether the values of a column are first collected, then copied to their final position.
bool BatchBuilder::is_collected(std::size_t feature) const {
  return row_bytes_[feature] == 0 && !decoder_.plan_.features[feature].dense();
}

void BatchBuilder::copy(const Part& part, std::size_t feature, const std::byte* values) const {
  const Part::Ragged& ragged = part.columns[feature];
  if (ragged.bytes != 0) std::memcpy(columns_[feature].values->data() + ragged.place, values, ragged.bytes);
}

std::size_t BatchBuilder::held_bytes() {
  const std::lock_guard lock(mutex_);
  return held_bytes_;
}

DecodedBatch BatchBuilder::finish(std::size_t rows, const Runner& run) {
  std::vector<std::unique_ptr<Part>> parts;
  DecodedBatch batch;
  batch.rows = rows;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [first_row, part] : parts_) {
      if (first_row >= std::max<std::size_t>(rows, 1)) break;
      if (part->fault.fault == ExampleFault::kNone) continue;
      batch.fault = part->fault;
      return batch;
    }
    while (!parts_.empty() && parts_.begin()->first < std::max<std::size_t>(rows, 1))
      parts.push_back(std::move(parts_.extract(parts_.begin()).mapped()));
    // Later rows may still be decoded.
    batch.columns = rows == rows_ ? std::move(columns_) : columns_;
  }
  for (std::size_t f = 0; f < batch.columns.size(); ++f) {
    DecodedColumn& column = batch.columns[f];
    if (decoder_.plan_.features[f].dense()) {
      column.items = rows;
      continue;
    }
    join(f, parts, column, run);
    if (rows != 0) learn_sizes(f, parts, column.items * decoder_.plan_.features[f].item_bytes(), rows);
  }
  batch.buffers = buffers_.all();
  return batch;
}

void BatchBuilder::learn_sizes(std::size_t feature, std::span<const std::unique_ptr<Part>> parts, std::uint64_t bytes,
                               std::size_t rows) const {
  const std::uint64_t row_bytes = (bytes + rows - 1) / rows;
  const bool even = std::ranges::all_of(
      parts, [&](const auto& part) { return part->columns[feature].bytes == part->rows * row_bytes; });
  decoder_.ragged_row_bytes_[feature] = row_bytes;
  // Integers need slack after their output, which a position between other rows does not have.
  decoder_.even_row_bytes_[feature] = even && decoder_.plan_.features[feature].kind != Kind::kInt64 ? row_bytes : 0;
}

void BatchBuilder::join(std::size_t feature, std::span<const std::unique_ptr<Part>> parts, DecodedColumn& column,
                        const Runner& run) const {
  const FeaturePlan& plan = decoder_.plan_.features[feature];
  const auto join_lengths = [&](std::vector<std::int64_t> Part::Ragged::* lengths, SharedBuffer& offsets) {
    std::size_t count = 0;
    for (const auto& part : parts) count += (part->columns[feature].*lengths).size();
    offsets = acquire_buffer(8 * (count + 1));
    std::int64_t* out = as_int64(offsets);
    std::int64_t sum = 0;
    *out = 0;
    for (const auto& part : parts)
      for (const std::int64_t length : part->columns[feature].*lengths) *++out = sum += length;
    return count;
  };
  join_lengths(&Part::Ragged::lengths, column.offsets);
  if (plan.sequence() && plan.ragged) column.steps = join_lengths(&Part::Ragged::step_lengths, column.step_offsets);

  std::vector<std::size_t> starts{0};
  for (const auto& part : parts) starts.push_back(starts.back() + part->columns[feature].bytes);
  column.items = starts.back() / plan.item_bytes();
  if (std::ranges::all_of(parts, [&](const auto& part) { return part->columns[feature].placed; })) {
    if (!column.values) column.values = acquire_buffer(0);
    return;
  }
  if (parts.size() == 1 && parts[0]->columns[feature].values) {
    column.values = std::move(parts[0]->columns[feature].values);
    return;
  }
  const SharedBuffer placed = std::exchange(column.values, acquire_buffer(starts.back()));
  run(parts.size(), [&](std::size_t i) {
    const Part::Ragged& ragged = parts[i]->columns[feature];
    const std::byte* values = ragged.placed   ? placed->data() + ragged.place
                              : ragged.values ? ragged.values->data()
                                              : nullptr;
    if (ragged.bytes != 0) std::memcpy(column.values->data() + starts[i], values, ragged.bytes);
  });
}

}  // namespace penstock
