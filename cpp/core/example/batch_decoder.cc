#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "core/example/batch.h"

namespace penstock {
namespace {

bool any_views(const DecodePlan& plan) {
  return std::any_of(plan.features.begin(), plan.features.end(),
                     [](const FeaturePlan& feature) { return feature.element == Element::kView; });
}

// Returns the chunks with the records [begin, end) of `chunks`.
std::vector<Chunk> slice(std::span<const Chunk> chunks, std::size_t begin, std::size_t end) {
  std::vector<Chunk> part;
  std::size_t first = 0;
  for (const Chunk& chunk : chunks) {
    const std::size_t from = std::max(begin, first), to = std::min(end, first + chunk.size());
    if (from < to) part.push_back(chunk.slice(from - first, to - first));
    first += chunk.size();
  }
  return part;
}

}  // namespace

void run_here(std::size_t n, const std::function<void(std::size_t)>& task) {
  for (std::size_t i = 0; i < n; ++i) task(i);
}

BatchDecoder::BatchDecoder(DecodePlan plan)
    : plan_(std::move(plan)),
      has_views_(any_views(plan_)),
      all_dense_(std::ranges::all_of(plan_.features, &FeaturePlan::dense)),
      ragged_row_bytes_(plan_.features.size()),
      even_row_bytes_(plan_.features.size()) {}
BatchDecoder::~BatchDecoder() = default;

// Spins for longer than the lock is ever held, then does without the idle workers: in a child forked at the wrong
// moment, it is held forever.
std::unique_lock<std::mutex> BatchDecoder::lock_idle() {
  std::unique_lock lock(mutex_, std::defer_lock);
  for (int i = 0; i < 256 && !lock.try_lock(); ++i) {
  }
  return lock;
}

std::unique_ptr<BatchDecoder::Worker> BatchDecoder::borrow_worker() {
  {
    const std::unique_lock lock = lock_idle();
    if (lock && !idle_.empty()) {
      auto worker = std::move(idle_.back());
      idle_.pop_back();
      return worker;
    }
  }
  return std::make_unique<Worker>(plan_);
}

void BatchDecoder::return_worker(std::unique_ptr<Worker> worker) {
  const std::unique_lock lock = lock_idle();
  if (lock) idle_.push_back(std::move(worker));
}

std::uint64_t BatchDecoder::dense_row_bytes() const {
  std::uint64_t sum = 0;
  for (const FeaturePlan& plan : plan_.features)
    if (plan.dense()) sum += plan.item_bytes();
  return sum;
}

std::size_t BatchDecoder::dense_bytes(std::size_t rows) const {
  std::size_t sum = 0;
  for (const FeaturePlan& plan : plan_.features) {
    const std::size_t values = plan.dense() ? aligned_size(plan.bytes_of(rows)) : 0;
    const std::size_t mask = plan.has_mask() ? aligned_size(rows) : 0;
    if (values > std::numeric_limits<std::size_t>::max() / 2 - sum - mask) throw std::bad_alloc();
    sum += values + mask;
  }
  return sum;
}

bool BatchDecoder::scatters() const {
  return all_dense_ && !has_views_ && dense_row_bytes() >= kMinNontemporalBytes * plan_.features.size();
}

DecodedBatch BatchDecoder::decode(const std::vector<Chunk>& chunks, const Outputs& outputs, std::size_t parts,
                                  const Runner& run) {
  const std::size_t rows = rows_of(chunks);
  BatchBuilder builder(*this, rows, outputs);
  parts = std::max<std::size_t>(1, std::min(parts, rows));
  run(parts, [&](std::size_t part) {
    const std::size_t begin = rows * part / parts;
    builder.decode(slice(chunks, begin, rows * (part + 1) / parts), begin);
  });
  return builder.finish(rows, run);
}

}  // namespace penstock
