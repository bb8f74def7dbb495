#include "core/stats/record_stats.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

constexpr std::size_t kLargest = 5;

bool is_larger(const LargeRecord& a, const LargeRecord& b) {
  if (a.bytes != b.bytes) return a.bytes > b.bytes;
  return std::pair(a.file, a.record) < std::pair(b.file, b.record);
}

void add_large(std::vector<LargeRecord>& largest, const LargeRecord& record) {
  if (largest.size() == kLargest && !is_larger(record, largest.back())) return;
  largest.insert(std::ranges::upper_bound(largest, record, is_larger), record);
  if (largest.size() > kLargest) largest.pop_back();
}

void merge(StatsResult& into, const StatsResult& other) {
  into.sizes.merge(other.sizes);
  for (std::size_t f = 0; f < into.features.size(); ++f) into.features[f].merge(other.features[f]);
  for (const LargeRecord& record : other.largest) add_large(into.largest, record);
}

}  // namespace

RecordStats::RecordStats(std::shared_ptr<BatchDecoder> usual, std::shared_ptr<BatchDecoder> any,
                         std::vector<FeatureStats> features)
    : usual_(std::move(usual)), any_(std::move(any)), empty_(std::move(features)) {}

std::unique_ptr<StatsResult> RecordStats::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto found = std::move(idle_.back());
      idle_.pop_back();
      return found;
    }
  }
  auto fresh = std::make_unique<StatsResult>();
  fresh->features = empty_;
  return fresh;
}

bool RecordStats::add(const Chunk& chunk, std::size_t file) {
  BatchDecoder* decoder = usual_.get();
  DecodedBatch batch = decoder->decode({chunk}, {}, 1, run_here);
  if (batch.fault.fault != ExampleFault::kNone) {
    decoder = any_.get();
    batch = decoder->decode({chunk}, {}, 1, run_here);
    if (batch.fault.fault != ExampleFault::kNone) return false;
  }
  std::vector<Bytes> buffers;
  for (const SharedBuffer& buffer : batch.buffers) buffers.emplace_back(buffer->data(), buffer->capacity());
  std::unique_ptr<StatsResult> found = borrow();
  for (std::size_t f = 0; f < found->features.size(); ++f)
    found->features[f].add(decoder->plan().features[f], batch.columns[f], batch.rows, buffers);
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    const std::uint64_t bytes = chunk.span(i).length;
    found->sizes.add(static_cast<std::int64_t>(bytes));
    if (found->largest.size() < kLargest || bytes >= found->largest.back().bytes)
      add_large(found->largest, {file, chunk.first_record + i, bytes});
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(found));
  return true;
}

void RecordStats::merge(const RecordStats& other) {
  std::unique_ptr<StatsResult> found = borrow();
  for (const auto& part : other.idle_) penstock::merge(*found, *part);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(found));
}

StatsResult RecordStats::result() {
  StatsResult sum;
  sum.features = empty_;
  for (const auto& part : idle_) penstock::merge(sum, *part);
  for (FeatureStats& feature : sum.features) feature.finish();
  return sum;
}

}  // namespace penstock
