// What lanes do with the matches that they find.
#pragma once

#include <cstdint>

#include "core/little_endian.h"

#ifdef _MSC_VER
#define PENSTOCK_INLINE __forceinline
#else
#define PENSTOCK_INLINE __attribute__((always_inline)) inline
#endif

namespace penstock::inflate {

// Up to so many bytes more than it has to are written by whoever copies in words.
inline constexpr std::size_t kCopySlack = 15;

PENSTOCK_INLINE void copy_words(std::byte* to, const std::byte* from, std::size_t size) {
  std::byte* const end = to + size;
  do {
    std::memcpy(to, from, 16);
    to += 16;
    from += 16;
  } while (to < end);
}

// Repeats what lies `distance` bytes back.
PENSTOCK_INLINE void copy_match(std::byte* to, std::size_t distance, std::size_t length) {
  const std::byte* from = to - distance;
  if (distance >= 16) {
    copy_words(to, from, length);
  } else if (distance == 1) {
    std::memset(to, static_cast<int>(*from), length);
  } else {
    // Words overlap what they are copied from: of each, the first `distance` bytes are right.
    const std::byte* const end = to + length;
    const std::size_t step = distance < 8 ? distance : 8;
    do {
      const std::uint64_t word = load_le64(from);
      store_le64(to, word);
      to += step;
      from += step;
    } while (to < end);
  }
}

// Copied at once, to where they belong.
class CopiedMatches {
 public:
  explicit CopiedMatches(const std::byte* begin) : begin_(begin) {}

  // False where there is nothing so far back.
  PENSTOCK_INLINE bool put(std::size_t distance, std::size_t length, std::byte*& out, std::byte*&) const {
    if (distance > static_cast<std::size_t>(out - begin_)) return false;
    copy_match(out, distance, length);
    out += length;
    return true;
  }

 private:
  const std::byte* begin_;
};

struct Note {
  std::uint32_t literals;  // before the match, all of them
  std::uint16_t length, distance;
};

// Noted, where it is not known yet what they repeat. Notes lie at the end of the memory that literals are written to,
// the first one last; each takes from the room for literals.
class RecordedMatches {
 public:
  RecordedMatches(const std::byte* begin, std::byte* end) : begin_(begin), notes_(end) {}

  PENSTOCK_INLINE bool put(std::size_t distance, std::size_t length, std::byte*& out, std::byte*& last_out) {
    const Note note{static_cast<std::uint32_t>(out - begin_), static_cast<std::uint16_t>(length),
                    static_cast<std::uint16_t>(distance)};
    notes_ -= sizeof note;
    last_out -= sizeof note;
    std::memcpy(notes_, &note, sizeof note);
    return true;
  }

  const std::byte* last() const { return notes_; }

 private:
  const std::byte* begin_;
  std::byte* notes_;
};

}  // namespace penstock::inflate
