// Takes the values of one row (or step) as the wire gives them, and puts them where they belong in the column.
//
// Every value is counted against the room that there is before it is stored: an overrun is an answer, not a crash.
#pragma once

#include "core/example/column_part.h"
#include "core/example/decode_fault.h"
#include "core/example/plan.h"
#include "core/nontemporal_copy.h"

namespace penstock {

// Where the bytes of a view lie: a buffer of the batch, by its number.
struct ViewSource {
  const std::byte* base;
  std::int32_t buffer;
};

void write_view(std::byte* out, wire::Bytes bytes, ViewSource source);

// Moves a view to another buffer number; a short one holds its bytes itself and stays.
void place_view(std::byte* view, std::int32_t buffer);

class RowValues {
 public:
  // For a dense row: `out` has room for plan.count values.
  RowValues(const FeaturePlan& plan, ViewSource source, std::byte* out, NontemporalCopies* nontemporal)
      : plan_(plan), source_(source), out_(out), capacity_(plan.count), nontemporal_(nontemporal) {}
  // For a ragged row: values are appended to `growing`.
  RowValues(const FeaturePlan& plan, ViewSource source, GrowingBytes& growing)
      : plan_(plan), source_(source), growing_(&growing) {}

  bool bytes(wire::Bytes value);
  bool floats(const std::byte* data, std::size_t count);
  bool varint(std::int64_t value);
  bool varints(wire::Bytes run);

  std::uint64_t count() const { return count_; }
  ExampleFault fault() const { return fault_; }
  std::uint64_t found() const { return found_; }

 private:
  std::byte* reserve(std::size_t count);
  bool store_ints(const std::int64_t* values, std::size_t count);
  bool fail(ExampleFault fault, std::uint64_t found) {
    fault_ = fault;
    found_ = found;
    return false;
  }

  const FeaturePlan& plan_;
  ViewSource source_;
  std::byte* out_ = nullptr;
  std::uint64_t capacity_ = 0;
  NontemporalCopies* nontemporal_ = nullptr;  // where rows are not looked at soon
  GrowingBytes* growing_ = nullptr;
  std::uint64_t count_ = 0;  // values so far, those without room included
  ExampleFault fault_ = ExampleFault::kNone;
  std::uint64_t found_ = 0;
};

}  // namespace penstock
