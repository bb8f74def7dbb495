#include "core/columns/utf8.h"

#include <cstdint>
#include <cstring>

namespace penstock {
namespace {

// Returns the bytes of the character at `p`, or 0 if it is invalid. The range of the second byte excludes overlong
// forms, surrogates and anything above U+10FFFF (Unicode, table 3-7).
std::size_t character_length(const unsigned char* p, std::size_t left) {
  const auto follows = [](unsigned char c) { return (c & 0xC0) == 0x80; };
  const unsigned char lead = p[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4 || left < 2) return 0;
  if (lead < 0xE0) return follows(p[1]) ? 2 : 0;
  const unsigned char low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (p[1] < low || p[1] > high || left < 3 || !follows(p[2])) return 0;
  if (lead < 0xF0) return 3;
  return left >= 4 && follows(p[3]) ? 4 : 0;
}

}  // namespace

bool is_utf8(std::span<const std::byte> text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t i = 0;
  while (i < text.size()) {
    // Most text is mostly ASCII: check eight bytes at a time.
    std::uint64_t word;
    while (text.size() - i >= sizeof word) {
      std::memcpy(&word, p + i, sizeof word);
      if (word & 0x8080808080808080u) break;
      i += sizeof word;
    }
    if (i == text.size()) break;
    const std::size_t length = character_length(p + i, text.size() - i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

}  // namespace penstock
