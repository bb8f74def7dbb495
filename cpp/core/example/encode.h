// Encodes rows of columns as framed Examples or SequenceExamples.
//
// Entries follow the order of the columns, and lists are packed, as protobuf writes them: the same columns always give
// the same bytes. Every offset and every view is checked before it is followed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/example/plan.h"
#include "core/frame_buffer.h"

namespace penstock {

// A column to encode. The caller owns the memory and must not change it during a call.
struct EncodeColumn {
  std::string key;
  Section section = Section::kContext;
  Kind kind = Kind::kInt64;
  Element element = Element::kInt64;  // what `values` holds; kRaw: an item's memory is one bytes value
  std::uint64_t value_bytes = 8;
  std::uint64_t count = 1;  // values in an item
  std::span<const std::byte> values;
  std::span<const std::int64_t> offsets;            // items of each row (in a sequence: of each step), if they vary
  std::span<const std::int64_t> step_offsets;       // in a sequence: steps of each row
  std::span<const std::uint8_t> valid;              // rows that are present; empty: all
  std::vector<std::span<const std::byte>> buffers;  // that views point into

  std::uint64_t item_bytes() const { return count * value_bytes; }
  bool sequence() const { return section == Section::kSequence; }
};

enum class EncodeFault : std::uint8_t {
  kNone,
  kBadColumn,  // offsets, masks or views do not fit the column's memory
  kTooLarge,   // protobuf would reject the record
};

struct EncodeResult {
  EncodeFault fault = EncodeFault::kNone;
  std::size_t row = 0;     // the first row that is not encoded
  std::size_t column = 0;  // with the fault
};

// Appends rows from `first` on, up to `rows` or until the frames have `limit` bytes.
EncodeResult encode_rows(std::span<const EncodeColumn> columns, bool sequence_example, std::size_t first,
                         std::size_t rows, std::size_t limit, FrameBuffer& frames);

}  // namespace penstock
