// A piece of an inflated stream, in a buffer that a ChunkAssembler can take without a copy.
#pragma once

#include <span>

#include "core/buffer.h"

namespace penstock::inflate {

// Bytes [begin, end) of a buffer. The bytes before them are headroom for the start of a record.
struct Piece {
  SharedBuffer buffer;
  std::size_t begin = 0, end = 0;

  std::span<const std::byte> bytes() const { return {buffer->data() + begin, end - begin}; }
};

inline constexpr std::size_t kHeadroom = std::size_t{1} << 18;

}  // namespace penstock::inflate
