#include "io/started_batches.h"

#include <algorithm>
#include <variant>

namespace penstock {
namespace {

// Small batches share memory of about this size. A batch that is kept keeps as much.
constexpr std::size_t kSharedMemory = std::size_t{512} << 10;
// Batches up to this size do.
constexpr std::size_t kSmallBatch = std::size_t{128} << 10;

// Drops the rows of a batch from `rows` on.
void cut(DecodedBatch& batch, std::size_t rows, const DecodePlan& plan) {
  const auto number = [](const SharedBuffer& offsets, std::uint64_t i) {
    return static_cast<std::uint64_t>(reinterpret_cast<const std::int64_t*>(offsets->data())[i]);
  };
  batch.rows = rows;
  for (std::size_t f = 0; f < batch.columns.size(); ++f) {
    DecodedColumn& column = batch.columns[f];
    column.items = column.offsets ? number(column.offsets, rows) : rows;
    if (!plan.features[f].sequence() || !plan.features[f].ragged) continue;
    column.steps = column.items;
    column.items = number(column.step_offsets, column.steps);
  }
}

}  // namespace

std::vector<Piece> StartedBatches::admit(BlockProgress& progress) {
  std::vector<Piece> pieces;
  for (; progress.event < progress.block.events.size(); ++progress.event, progress.from = 0) {
    const auto* chunk = std::get_if<Chunk>(&progress.block.events[progress.event]);
    if (chunk == nullptr) break;
    while (progress.from < chunk->size()) {
      SharedBatch batch = find_or_start(progress.row / rows_);
      if (!batch) return pieces;
      const auto row = static_cast<std::size_t>(progress.row % rows_);
      const std::size_t to = std::min(chunk->size(), progress.from + rows_ - row);
      pieces.push_back({std::move(batch), chunk->slice(progress.from, to), row});
      progress.row += to - progress.from;
      progress.from = to;
    }
  }
  return pieces;
}

// Returns a batch, or nothing if there is no space for it.
SharedBatch StartedBatches::find_or_start(std::uint64_t batch) {
  if (!has_space(batch)) return nullptr;
  SharedBatch& pending = started_[batch];
  if (!pending) {
    pending = std::make_shared<PendingBatch>();
    pending->memory = take_memory();
    pending->held_bytes = rows_ * static_cast<std::size_t>(decoder_->dense_row_bytes());
    held_bytes += pending->held_bytes;
  }
  return pending;
}

BatchMemory StartedBatches::take_memory() {
  if (dense_bytes_ == 0 || dense_bytes_ > kSmallBatch) return {};
  if (!memory_.buffer || memory_.buffer->capacity() - memory_.offset < dense_bytes_)
    memory_ = {acquire_buffer(kSharedMemory / dense_bytes_ * dense_bytes_), 0};
  BatchMemory taken = memory_;
  memory_.offset += dense_bytes_;
  return taken;
}

std::vector<SharedBatch> StartedBatches::record(std::vector<Piece>& pieces, const Block& block) {
  std::vector<SharedBatch> decoded;
  for (Piece& piece : pieces) {
    const Chunk& chunk = piece.chunk;
    const std::size_t last = chunk.size() - 1;
    const std::uint64_t end_offset = chunk.frame_offset(last) + chunk.span(last).length + kFrameOverhead;
    PendingBatch& batch = *piece.batch;
    batch.runs.push_back({piece.row,
                          {block.file, chunk.frame_offset(0), chunk.first_record},
                          {block.file, end_offset, chunk.first_record + chunk.size()}});
    batch.rows += chunk.size();
    batch.last_block = std::max(batch.last_block, block.number);
    if (batch.rows != rows_) continue;
    batch.is_finishing = true;
    decoded.push_back(std::move(piece.batch));
  }
  return decoded;
}

TakenBatch StartedBatches::take(std::size_t rows) {
  const SharedBatch pending = std::move(started_.extract(next_++).mapped());
  std::vector<Run>& runs = pending->runs;
  std::erase_if(runs, [&](const Run& run) { return run.first_row >= rows; });
  std::ranges::sort(runs, {}, &Run::first_row);
  std::optional<DecodedBatch>& whole = pending->whole;
  const bool is_usable = whole && (rows == rows_ || whole->fault.fault == ExampleFault::kNone);
  DecodedBatch batch = is_usable ? std::move(*whole) : pending->builder().finish(rows, run_here);
  if (rows < batch.rows) cut(batch, rows, decoder_->plan());
  return {std::move(batch), std::move(runs), pending->held_bytes};
}

}  // namespace penstock
