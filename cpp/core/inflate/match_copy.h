// What decode loops do with matches.
#pragma once

#include <cstdint>

#include "core/little_endian.h"

#ifdef _MSC_VER
#define PENSTOCK_INLINE __forceinline
#else
#define PENSTOCK_INLINE __attribute__((always_inline)) inline
#endif

namespace penstock::inflate {

// Copying in words may write this many bytes more than needed.
inline constexpr std::size_t kCopySlack = 15;

PENSTOCK_INLINE void copy_words(std::byte* to, const std::byte* from, std::size_t size) {
  std::byte* const end = to + size;
  do {
    std::memcpy(to, from, 16);
    to += 16;
    from += 16;
  } while (to < end);
}

// Repeats the bytes that lie `distance` back.
PENSTOCK_INLINE void copy_match(std::byte* to, std::size_t distance, std::size_t length) {
  const std::byte* from = to - distance;
  if (distance >= 16) {
    copy_words(to, from, length);
  } else if (distance == 1) {
    std::memset(to, static_cast<int>(*from), length);
  } else {
    // Words overlap their source: the first `distance` bytes of each are right.
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

// Copies matches to the output immediately.
class CopiedMatches {
 public:
  explicit CopiedMatches(const std::byte* begin) : begin_(begin) {}

  // False if the distance reaches before the output.
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
  std::uint32_t literals;  // before the match, in total
  std::uint16_t length, distance;
};

// Records matches whose source is not known yet. Notes grow down from the end of the memory that literals are written
// to, and reduce the space for literals.
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
