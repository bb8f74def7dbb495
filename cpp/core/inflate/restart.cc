#include "core/inflate/restart.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/inflate/inflater.h"

namespace penstock::inflate {
namespace {

constexpr std::size_t kTrailerBytes = 8, kFixedHeaderBytes = 10;
// Two bits yield at most 258 bytes: a larger claim per byte is damage, and must not be allocated.
constexpr std::size_t kMaxGrowth = 1032;
// An inflater stops before a match that does not fit.
constexpr std::size_t kLongestMatch = 258;

// Returns the size of the gzip header at the start of the bytes, 0 if it is damaged, or nothing if it is incomplete.
std::optional<std::size_t> header_size(std::span<const std::byte> bytes) {
  constexpr unsigned kHeaderCrc = 2, kExtra = 4, kName = 8, kComment = 16, kReserved = 0xE0;
  if (bytes.size() < kFixedHeaderBytes) return std::nullopt;
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  const unsigned flags = at(3);
  if (at(0) != 0x1F || at(1) != 0x8B || at(2) != 8 || (flags & kReserved) != 0) return 0;
  std::size_t size = kFixedHeaderBytes;
  if ((flags & kExtra) != 0) {
    if (bytes.size() < size + 2) return std::nullopt;
    size += 2 + at(size) + 256 * at(size + 1);
  }
  for (const unsigned text : {kName, kComment}) {
    if ((flags & text) == 0) continue;
    while (size < bytes.size() && at(size) != 0) ++size;
    ++size;
  }
  if ((flags & kHeaderCrc) != 0) size += 2;
  return size > bytes.size() ? std::nullopt : std::optional(size);
}

// Moves to the data of the next member. False if there is none, or if it is incomplete.
bool skip_to_next_member(std::span<const std::byte>& input, bool& needs_input) {
  needs_input = input.size() < kTrailerBytes;
  if (needs_input) return false;
  input = input.subspan(kTrailerBytes);
  const std::optional<std::size_t> header = header_size(input);
  needs_input = !header;
  if (!header || *header == 0) return false;
  input = input.subspan(*header);
  return true;
}

// Inflates up to a window's size of output after one window, and returns it.
std::optional<std::span<const std::byte>> inflate_after(const Restart& restart, std::span<const std::byte> window,
                                                        std::span<std::byte> memory) {
  std::byte* const next = memory.data() + window.size();
  std::copy(window.begin(), window.end(), memory.data());
  Inflater inflater;
  inflater.feed(restart.input);
  inflater.skip_bits(restart.bits);
  inflater.write_to({memory.data(), next, next + kWindowBytes + kLongestMatch});
  const Stop stop = inflater.advance();
  if (stop != Stop::kDone && stop != Stop::kNeedsOutput) return std::nullopt;
  return std::span<const std::byte>(next, inflater.output().next);
}

}  // namespace

Inflated inflate_from(const Restart& restart, bool gzip, std::size_t skip, std::size_t size) {
  if (restart.window.size() > kWindowBytes || skip > SIZE_MAX / 2 || size > SIZE_MAX / 2) return {};
  // A claim that even much more input could not fulfil: reading on is not worth it.
  if ((skip + size) / kMaxGrowth > restart.input.size()) return {std::nullopt, true};
  Piece piece{acquire_buffer(kHeadroom + skip + size + kLongestMatch), kHeadroom + skip, kHeadroom + skip + size};
  std::byte *const begin = piece.buffer->data() + kHeadroom, *const end = begin + skip + size;
  std::copy(restart.window.begin(), restart.window.end(), begin - restart.window.size());

  Output output{begin - restart.window.size(), begin, end + kLongestMatch};
  std::span<const std::byte> input = restart.input;
  unsigned bits = restart.bits;
  while (output.next < end) {
    Inflater inflater;
    inflater.feed(input);
    inflater.skip_bits(bits);
    inflater.write_to(output);
    const Stop stop = inflater.advance();
    output = inflater.output();
    if (output.next >= end) break;
    if (stop != Stop::kDone || !gzip) return {std::nullopt, stop == Stop::kNeedsInput};
    input = input.last(inflater.unread());
    bits = 0;
    bool needs_input = false;
    if (!skip_to_next_member(input, needs_input)) return {std::nullopt, needs_input};
    output.begin = output.next;  // a member does not refer to the one before it
  }
  return {std::move(piece)};
}

// The data is inflated after three made-up windows instead of the right one. Bytes that differ between the last two
// come from the window, and the first two say from where.
std::vector<std::byte> used_window(const Restart& restart) {
  const std::span<const std::byte> window = restart.window.last(std::min(restart.window.size(), kWindowBytes));
  std::array<std::vector<std::byte>, 3> made_up, memory;
  std::array<std::span<const std::byte>, 3> after;
  for (std::size_t which = 0; which < 3; ++which) {
    made_up[which].resize(window.size());
    for (std::size_t i = 0; i < window.size(); ++i)
      made_up[which][i] = static_cast<std::byte>(which == 0 ? i & 0xFF : which == 1 ? i >> 8 : ~(i >> 8) & 0xFF);
    memory[which].resize(window.size() + kWindowBytes + kLongestMatch);
    const auto inflated = inflate_after(restart, made_up[which], memory[which]);
    if (!inflated) return {window.begin(), window.end()};
    after[which] = *inflated;
  }
  std::vector<std::byte> used(window.size());
  std::size_t first = window.size();
  for (std::size_t i = 0; i < after[0].size(); ++i) {
    if (after[1][i] == after[2][i]) continue;
    const std::size_t from = std::to_integer<std::size_t>(after[0][i]) | std::to_integer<std::size_t>(after[1][i]) << 8;
    if (from >= window.size()) return {window.begin(), window.end()};
    used[from] = window[from];
    first = std::min(first, from);
  }
  return {used.begin() + static_cast<std::ptrdiff_t>(first), used.end()};
}

}  // namespace penstock::inflate
