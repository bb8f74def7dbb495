// A piece of a column while it is being decoded: the rows of one worker.
//
// Dense rows go straight to the batch's memory. Ragged values gather in memory of the part's own, which grows at most
// twice as fast as what is put into it, and are joined when all workers are done.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "core/buffer.h"

namespace penstock {

class GrowingBytes {
 public:
  std::byte* data() { return buffer_ ? buffer_->data() : nullptr; }
  std::size_t size() const { return size_; }

  // Room for `more` bytes behind what is there. Does not count as used until commit().
  std::byte* room(std::size_t more) {
    const std::size_t capacity = buffer_ ? buffer_->capacity() : 0;
    if (!buffer_ || size_ + more > capacity) {
      const std::size_t wanted = std::max({size_ + more, 2 * capacity, first_});
      SharedBuffer larger = acquire_buffer(wanted);
      if (size_ != 0) std::memcpy(larger->data(), buffer_->data(), size_);
      buffer_ = std::move(larger);
    }
    return buffer_->data() + size_;
  }
  void commit(std::size_t used) { size_ += used; }
  // What the first buffer should hold: as much as the last batch needed.
  void expect(std::size_t size) { first_ = std::max(size, first_); }

  // Forgets what is there and keeps the memory for the next batch.
  void reset() { size_ = 0; }

  // Gives the memory away.
  SharedBuffer release() {
    size_ = 0;
    return std::move(buffer_);
  }

 private:
  SharedBuffer buffer_;
  std::size_t first_ = 4096;
  std::size_t size_ = 0;
};

struct ColumnPart {
  std::byte* dense = nullptr;              // the batch's memory for row 0, where rows are of one size
  std::uint8_t* valid = nullptr;           // the batch's mask for row 0
  GrowingBytes values;                     // otherwise: the items of these rows, in order
  std::vector<std::int64_t> lengths;       // items in each row; in a sequence: steps in each row
  std::vector<std::int64_t> step_lengths;  // in a ragged sequence: items in each step
};

}  // namespace penstock
