// Finds the records of a stream that is pushed in pieces of any size: inflated data, a socket, a pipe.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "core/chunk_assembler.h"

namespace penstock {

class StreamRecords {
 public:
  explicit StreamRecords(const ChunkAssemblerOptions& options) : assembler_(options) {}

  // Copies `data` and returns the records that it completes.
  std::vector<Event> feed(std::span<const std::byte> data) {
    std::vector<Event> events;
    while (!data.empty() && !assembler_.failed()) {
      const std::size_t size = std::min(data.size(), kBlockBytes);
      const SharedBuffer buffer = acquire_buffer(kHeadroom + kBlockBytes);
      std::memcpy(buffer->data() + kHeadroom, data.data(), size);
      assembler_.add(buffer, kHeadroom, kHeadroom + size, events);
      data = data.subspan(size);
    }
    return events;
  }

  // The same without a copy, for bytes [begin, end) of a buffer that is given away: the bytes before them may be
  // overwritten.
  std::vector<Event> take(const SharedBuffer& buffer, std::size_t begin, std::size_t end) {
    std::vector<Event> events;
    if (begin != end && !assembler_.failed()) assembler_.add(buffer, begin, end, events);
    return events;
  }

  // Ends the stream: a record that is still incomplete becomes a fault.
  std::vector<Event> finish() {
    std::vector<Event> events;
    assembler_.finish(events);
    return events;
  }

  std::uint64_t record() const { return assembler_.record(); }
  std::uint64_t offset() const { return assembler_.offset(); }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 20;
  static constexpr std::size_t kHeadroom = kBlockBytes / 4;

  ChunkAssembler assembler_;
};

}  // namespace penstock
