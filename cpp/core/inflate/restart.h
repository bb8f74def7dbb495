// Inflates from the middle of a deflate stream: from a restart point, which is where a block starts. What the data
// there may refer to, the window, was stored when the stream was read from its start.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/inflate/piece.h"

namespace penstock::inflate {

// The byte that a restart point lies in is the first of `input`; `bits` of it belong to the block before.
struct Restart {
  std::span<const std::byte> input;
  unsigned bits;
  std::span<const std::byte> window;  // at most kWindowBytes
};

struct Inflated {
  std::optional<Piece> piece;
  bool needs_input = false;  // more than there was
};

// Inflates `skip` and then `size` bytes, and returns the latter. If `gzip`, they may extend over several members;
// checksums of members are not checked. Nothing for data that is damaged, or that no deflate data of its size yields.
Inflated inflate_from(const Restart& restart, bool gzip, std::size_t skip, std::size_t size);

// Returns the window with zeros for all bytes that the data does not refer to, without those at its start. If the input
// is too short to tell, that is all of it.
std::vector<std::byte> used_window(const Restart& restart);

}  // namespace penstock::inflate
