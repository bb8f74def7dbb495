// Inflates gzip members that are completely in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/inflate/piece.h"

namespace penstock::inflate {

// A member as Penstock writes it: its header states its size and the number of its records.
struct SizedMember {
  static constexpr std::size_t kHeaderBytes = 24;

  std::size_t size = 0;  // compressed, of the whole member
  std::uint32_t records = 0;

  std::size_t body_size() const { return size - kHeaderBytes; }
};

// Parses the header of such a member; nothing if `head` starts with none, or with one that states more than `most`
// bytes.
std::optional<SizedMember> sized_member(std::span<const std::byte> head, std::size_t most);

// What Penstock writes if there is no record: one empty member without a size.
bool is_empty_member(std::span<const std::byte> file);

// Inflates what follows the header of a member: deflate data, and a trailer with checksum and size, which must match.
// Returns nothing if it is damaged or larger than `most` bytes.
std::optional<Piece> inflate_member(std::span<const std::byte> body, std::size_t most);

// Inflates two members, interleaved.
std::array<std::optional<Piece>, 2> inflate_members(std::array<std::span<const std::byte>, 2> bodies, std::size_t most);

}  // namespace penstock::inflate
