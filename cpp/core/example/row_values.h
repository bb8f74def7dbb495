// Stores the values of one row (or step) in its column, as the wire format delivers them.
//
// Values are counted against the capacity before they are stored: an overrun is reported, not written.
#pragma once

#include "core/example/column_part.h"
#include "core/example/decode_fault.h"
#include "core/example/plan.h"
#include "core/nontemporal_copy.h"

namespace penstock {

// The buffer of a batch, by number, that contains the bytes of a view.
struct ViewSource {
  const std::byte* base;
  std::int32_t buffer;
};

void write_view(std::byte* out, wire::Bytes bytes, ViewSource source);

// Sets the buffer number of a view; a short one contains its bytes and stays unchanged.
void place_view(std::byte* view, std::int32_t buffer);

class RowValues {
 public:
  // For a dense row: `out` has space for plan.count values.
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
  NontemporalCopies* nontemporal_ = nullptr;  // for rows that are not read soon
  GrowingBytes* growing_ = nullptr;
  std::uint64_t count_ = 0;  // values so far, including those that did not fit
  ExampleFault fault_ = ExampleFault::kNone;
  std::uint64_t found_ = 0;
};

}  // namespace penstock
