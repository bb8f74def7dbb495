// Inflates gzip members that are completely in memory.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "core/inflate/piece.h"

namespace penstock::inflate {

// Inflates what follows the header of a member: deflate data, and a trailer with checksum and size, which must match.
// Returns nothing if it is damaged or larger than `most` bytes.
std::optional<Piece> inflate_member(std::span<const std::byte> body, std::size_t most);

// Inflates two members, interleaved.
std::array<std::optional<Piece>, 2> inflate_members(std::array<std::span<const std::byte>, 2> bodies, std::size_t most);

}  // namespace penstock::inflate
