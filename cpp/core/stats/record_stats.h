// Statistics of records, from any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/chunk.h"
#include "core/example/batch.h"
#include "core/stats/feature_stats.h"

namespace penstock {

struct LargeRecord {
  std::size_t file = 0;
  std::uint64_t record = 0, bytes = 0;
};

struct StatsResult {
  Range<std::int64_t> sizes;  // of the payloads
  std::vector<FeatureStats> features;
  std::vector<LargeRecord> largest;  // of equals, the first
};

class RecordStats {
 public:
  // `usual` decodes records as most are, faster; those of a chunk that it does not decode are decoded by `any`. Both
  // have the same features, of which `features` is what is known before. The results of other columns, the partitions
  // of ragged ones, are of no use.
  RecordStats(std::shared_ptr<BatchDecoder> usual, std::shared_ptr<BatchDecoder> any,
              std::vector<FeatureStats> features);

  // Adds the records of a chunk; false, and adds none, if one of them does not decode. Thread-safe.
  bool add(const Chunk& chunk, std::size_t file);

  // Returns statistics of the same features, without records.
  std::shared_ptr<RecordStats> fresh() const { return std::make_shared<RecordStats>(usual_, any_, empty_); }
  // Adds the records of others, to which no thread adds any more. Thread-safe.
  void merge(const RecordStats& other);

  // Returns the sum of all that was added. No other call may be in progress.
  StatsResult result();

 private:
  std::unique_ptr<StatsResult> borrow();

  const std::shared_ptr<BatchDecoder> usual_, any_;
  const std::vector<FeatureStats> empty_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<StatsResult>> idle_;  // one for each thread
};

}  // namespace penstock
