// The records of several chunks under consecutive numbers, of which selected ones are copied in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/chunk.h"

namespace penstock {

// Immutable, so threads may share it.
class RecordPool {
 public:
  explicit RecordPool(std::vector<Chunk> chunks);

  std::size_t size() const { return starts_.back(); }

  // Copies records into a new chunk, in the given order. Throws std::out_of_range.
  Chunk take(std::span<const std::int64_t> records) const;

 private:
  std::span<const std::byte> record(std::int64_t number) const;

  std::vector<Chunk> chunks_;
  std::vector<std::size_t> starts_;  // number of each chunk's first record, and the total
};

}  // namespace penstock
