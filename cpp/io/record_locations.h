// The locations of records, by their row numbers across all files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/frame.h"

namespace penstock {

struct RecordLocation {
  std::size_t shard;
  std::uint64_t offset;  // of the frame
  std::uint64_t length;  // of the payload
};

// The records of one file: all of one length without gaps, or each at its entry of `starts`.
struct ShardLocations {
  std::uint64_t count = 0;
  std::uint64_t equal_length = 0;          // without starts
  const std::uint64_t* starts = nullptr;   // of `count` frames; without lengths one more, the end of the last frame
  const std::uint64_t* lengths = nullptr;  // of the payloads
};

// Immutable, so threads may share it. The memory that the pointers refer to must outlive it.
class RecordLocations {
 public:
  explicit RecordLocations(std::vector<ShardLocations> shards) : shards_(std::move(shards)) {
    first_rows_.reserve(shards_.size() + 1);
    first_rows_.push_back(0);
    for (const ShardLocations& shard : shards_) first_rows_.push_back(first_rows_.back() + shard.count);
  }

  std::size_t shards() const { return shards_.size(); }
  std::uint64_t rows() const { return first_rows_.back(); }

  // From the first record to the last, summed over the files.
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
      if (shards_[shard].count == 0) continue;
      const RecordLocation last = at(first_rows_[shard + 1] - 1);
      sum += last.offset + last.length + kFrameOverhead;
    }
    return sum;
  }

  // Returns the location of a row below rows(), as given by the index, which may be wrong.
  RecordLocation at(std::uint64_t row) const {
    const auto after = std::upper_bound(first_rows_.begin(), first_rows_.end(), row);
    const auto shard = static_cast<std::size_t>(after - first_rows_.begin()) - 1;
    const ShardLocations& locations = shards_[shard];
    const std::uint64_t i = row - first_rows_[shard];
    if (locations.starts == nullptr)
      return {shard, i * (locations.equal_length + kFrameOverhead), locations.equal_length};
    const std::uint64_t start = locations.starts[i];
    return {shard, start, locations.lengths ? locations.lengths[i] : locations.starts[i + 1] - start - kFrameOverhead};
  }

 private:
  std::vector<ShardLocations> shards_;
  std::vector<std::uint64_t> first_rows_;  // of each file, and the total
};

}  // namespace penstock
