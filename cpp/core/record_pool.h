// Records of many chunks, numbered through, out of which chosen ones are copied in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/chunk.h"

namespace penstock {

// Immutable, so that threads may share it.
class RecordPool {
 public:
  explicit RecordPool(std::vector<Chunk> chunks);

  std::size_t size() const { return starts_.back(); }

  // Copies records into a chunk of their own, in the order in which they are named. Throws std::out_of_range.
  Chunk take(std::span<const std::int64_t> records) const;

 private:
  std::span<const std::byte> record(std::int64_t number) const;

  std::vector<Chunk> chunks_;
  std::vector<std::size_t> starts_;  // the number of each chunk's first record, and of the one behind the last
};

}  // namespace penstock
