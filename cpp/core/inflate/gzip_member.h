// Inflates gzip members that are whole in memory.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "core/inflate/piece.h"

namespace penstock::inflate {

// Inflates what follows the header of a member: deflate data, and the trailer with a checksum and a size that must be
// right. Nothing where it is damaged, or the size is more than `most` bytes.
std::optional<Piece> inflate_member(std::span<const std::byte> body, std::size_t most);

// Two of them, in turns.
std::array<std::optional<Piece>, 2> inflate_members(std::array<std::span<const std::byte>, 2> bodies, std::size_t most);

}  // namespace penstock::inflate
