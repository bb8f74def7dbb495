// Protocol-buffer wire format: a cursor that never reads past its end and never trusts a length.
//
// Accepts and rejects as protobuf's own parser (upb) does, except that groups are rejected. Every function returns
// false on malformed bytes and leaves the cursor within its range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/little_endian.h"

namespace penstock::wire {

enum class Type : std::uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kStartGroup = 3, kEndGroup = 4, kFixed32 = 5 };

struct Bytes {
  const std::byte* data = nullptr;
  std::size_t size = 0;
  const std::byte* end() const { return data + size; }
};

struct Tag {
  std::uint32_t field;
  Type type;
};

// Reads up to 10 bytes; drops bits above the 64th, as protobuf does.
inline bool read_varint(const std::byte*& p, const std::byte* end, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (p == end) return false;
    const auto byte = static_cast<std::uint64_t>(*p++);
    value |= shift == 63 ? byte << 63 : (byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

struct Cursor {
  const std::byte* p;
  const std::byte* end;

  explicit Cursor(Bytes bytes) : p(bytes.data), end(bytes.data + bytes.size) {}
  bool done() const { return p == end; }

  // A tag or a length is a varint of at most five bytes.
  bool read_short_varint(std::uint64_t& value) {
    const std::byte* start = p;
    return read_varint(p, end, value) && p - start <= 5;
  }

  bool read_tag(Tag& tag) {
    std::uint64_t value;
    if (p != end && static_cast<std::uint8_t>(*p) < 0x80) {
      value = static_cast<std::uint64_t>(*p++);
    } else if (!read_short_varint(value) || value > std::numeric_limits<std::uint32_t>::max()) {
      return false;
    }
    tag = {static_cast<std::uint32_t>(value >> 3), static_cast<Type>(value & 7)};
    return tag.field != 0;
  }

  bool read_bytes(Bytes& bytes) {
    std::uint64_t size;
    if (p != end && static_cast<std::uint8_t>(*p) < 0x80) {
      size = static_cast<std::uint64_t>(*p++);
    } else if (!read_short_varint(size)) {
      return false;
    }
    if (size > static_cast<std::size_t>(end - p)) return false;
    bytes = {p, static_cast<std::size_t>(size)};
    p += size;
    return true;
  }

  // Skips the value of a field.
  bool skip(Type type) {
    std::uint64_t ignored;
    Bytes bytes;
    switch (type) {
      case Type::kVarint:
        return read_varint(p, end, ignored);
      case Type::kFixed64:
        return advance(8);
      case Type::kLength:
        return read_bytes(bytes);
      case Type::kFixed32:
        return advance(4);
      default:
        return false;
    }
  }

  bool advance(std::size_t size) {
    if (size > static_cast<std::size_t>(end - p)) return false;
    p += size;
    return true;
  }
};

}  // namespace penstock::wire
