// A buffer and the records in it: what readers return, without an object per record.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "core/frame.h"

namespace penstock {

struct Chunk {
  SharedBuffer buffer;
  std::shared_ptr<const std::vector<Span>> spans;  // shared, so that slicing a chunk is cheap
  std::size_t begin = 0;                           // the chunk's records are spans[begin, end)
  std::size_t end = 0;
  std::uint64_t first_record = 0;  // number, within the input, of the record at `begin`
  std::int64_t stream_offset = 0;  // offset, within the input, of buffer byte 0; negative if the buffer has headroom

  std::shared_ptr<const std::string> source;  // the input's name, for errors

  std::size_t size() const { return end - begin; }
  Span span(std::size_t i) const { return (*spans)[begin + i]; }
  std::uint64_t frame_offset(std::size_t i) const {
    return static_cast<std::uint64_t>(stream_offset + static_cast<std::int64_t>(span(i).offset)) - kHeaderBytes;
  }
  Chunk slice(std::size_t from, std::size_t to) const {
    Chunk part = *this;
    part.begin = begin + from;
    part.end = begin + to;
    part.first_record = first_record + from;
    return part;
  }
};

inline std::size_t rows_of(std::span<const Chunk> chunks) {
  std::size_t rows = 0;
  for (const Chunk& chunk : chunks) rows += chunk.size();
  return rows;
}

}  // namespace penstock
