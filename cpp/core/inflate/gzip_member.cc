#include "core/inflate/gzip_member.h"

#include <array>
#include <cstring>
#include <utility>

#include "core/crc32/crc32.h"
#include "core/inflate/inflater.h"
#include "core/little_endian.h"

namespace penstock::inflate {
namespace {

constexpr std::size_t kTrailerBytes = 8;
// Two bits yield at most 258 bytes: a larger claim per byte is damage, and must not be allocated.
constexpr std::size_t kMaxGrowth = 1032;

// A member that is being inflated.
struct Member {
  static std::optional<Member> of(std::span<const std::byte> body, std::size_t most) {
    if (body.size() < kTrailerBytes) return std::nullopt;
    const std::span<const std::byte> deflated = body.first(body.size() - kTrailerBytes);
    const std::byte* const trailer = deflated.data() + deflated.size();
    const std::size_t size = load_le32(trailer + 4);
    if (size > most || size / kMaxGrowth > deflated.size()) return std::nullopt;
    Piece piece{acquire_buffer(kHeadroom + size), kHeadroom, kHeadroom + size};
    Inflater inflater(deflated, {piece.buffer->data() + kHeadroom, size});
    return Member{std::move(piece), load_le32(trailer), std::move(inflater)};
  }

  static std::optional<Piece> inflated(std::optional<Member> member) {
    if (!member || !member->inflater.run() || crc32(member->piece.bytes()) != member->crc) return std::nullopt;
    return std::move(member->piece);
  }

  Piece piece;
  std::uint32_t crc;
  Inflater inflater;
};

}  // namespace

std::optional<SizedMember> sized_member(std::span<const std::byte> head, std::size_t most) {
  // magic, deflate, FEXTRA, no time, no flags, Unix; an extra field of 12 bytes: "PS", 8, member size, records
  constexpr std::array<unsigned char, 16> kStart{0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 3, 12, 0, 'P', 'S', 8, 0};
  if (head.size() < SizedMember::kHeaderBytes || std::memcmp(head.data(), kStart.data(), kStart.size()) != 0) return {};
  const SizedMember member{load_le32(head.data() + 16), load_le32(head.data() + 20)};
  if (member.size < SizedMember::kHeaderBytes + kTrailerBytes || member.size > most) return {};
  return member;
}

bool is_empty_member(std::span<const std::byte> file) {
  constexpr std::array<unsigned char, 20> kEmpty{0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 3};
  return file.size() == kEmpty.size() && std::memcmp(file.data(), kEmpty.data(), kEmpty.size()) == 0;
}

std::optional<Piece> inflate_member(std::span<const std::byte> body, std::size_t most) {
  return Member::inflated(Member::of(body, most));
}

std::array<std::optional<Piece>, 2> inflate_members(std::array<std::span<const std::byte>, 2> bodies,
                                                    std::size_t most) {
  std::optional<Member> one = Member::of(bodies[0], most), other = Member::of(bodies[1], most);
  if (one && other) Inflater::run_interleaved(one->inflater, other->inflater);
  return {Member::inflated(std::move(one)), Member::inflated(std::move(other))};
}

}  // namespace penstock::inflate
