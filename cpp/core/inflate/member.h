// Inflates gzip members that are whole in memory, into buffers that the scanner of frames can take as they are.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "core/buffer.h"

namespace penstock::inflate {

// Bytes [begin, end) of a buffer; what is before them is room for the start of a record that they complete.
struct Piece {
  SharedBuffer buffer;
  std::size_t begin = 0, end = 0;

  std::span<const std::byte> bytes() const { return {buffer->data() + begin, end - begin}; }
};

// Inflates what follows the header of a member: deflate data, and the trailer with a checksum and a size that must be
// right. Nothing where it is damaged, or the size is more than `most` bytes.
std::optional<Piece> inflate_member(std::span<const std::byte> body, std::size_t most);

// Two of them, in turns.
std::array<std::optional<Piece>, 2> inflate_members(std::array<std::span<const std::byte>, 2> bodies, std::size_t most);

}  // namespace penstock::inflate
