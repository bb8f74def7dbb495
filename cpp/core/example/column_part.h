// A part of a column while it is decoded: the rows of one worker.
//
// Dense rows, and ragged values whose position is predicted, are written to the batch's memory. Other values are
// collected in the part's own memory, which grows at most twice as fast as its content, and joined when all workers are
// done.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "core/buffer.h"

namespace penstock {

class GrowingBytes {
 public:
  std::byte* data() { return data_; }
  std::size_t size() const { return size_; }

  // Reserves `more` bytes after the content. They do not count until commit().
  std::byte* reserve_more(std::size_t more) {
    if (size_ + more > capacity_) grow(more);
    return data_ + size_;
  }
  void commit(std::size_t used) { size_ += used; }
  // Sets the size of the first buffer: as much as the last batch needed.
  void expect(std::size_t size) { first_ = std::max(size, first_); }

  // Clears the content but keeps the memory for the next batch.
  void reset() {
    size_ = 0;
    data_ = buffer_ ? buffer_->data() : nullptr;
    capacity_ = buffer_ ? buffer_->capacity() : 0;
  }

  // Clears the content and uses borrowed memory for as long as it suffices.
  void borrow(std::byte* memory, std::size_t capacity) {
    size_ = 0;
    data_ = memory;
    capacity_ = capacity;
  }
  bool is_borrowed() const { return data_ != (buffer_ ? buffer_->data() : nullptr); }

  // Gives the memory away; content in borrowed memory is copied first.
  SharedBuffer release() {
    if (is_borrowed()) grow(0);
    SharedBuffer released = std::move(buffer_);
    reset();
    return released;
  }

 private:
  void grow(std::size_t more) {
    SharedBuffer larger = acquire_buffer(std::max({size_ + more, 2 * capacity_, first_}));
    if (size_ != 0) std::memcpy(larger->data(), data_, size_);
    buffer_ = std::move(larger);
    data_ = buffer_->data();
    capacity_ = buffer_->capacity();
  }

  SharedBuffer buffer_;
  std::byte* data_ = nullptr;  // of the buffer, or borrowed
  std::size_t capacity_ = 0;
  std::size_t first_ = 4096;
  std::size_t size_ = 0;
};

struct ColumnPart {
  std::byte* dense = nullptr;              // the batch's memory for row 0, if rows are of one size
  std::uint8_t* valid = nullptr;           // the batch's mask for row 0
  GrowingBytes values;                     // otherwise: the items of these rows, in order
  std::vector<std::int64_t> lengths;       // items in each row; in a sequence: steps in each row
  std::vector<std::int64_t> step_lengths;  // in a ragged sequence: items in each step
};

}  // namespace penstock
