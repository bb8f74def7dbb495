// Decodes records into columns.
//
// A PartDecoder decodes a run of records into a part of each column; several work on disjoint rows in parallel. It
// walks each record once to find the requested features (the last entry of a key wins), then decodes each feature into
// its column. Plain scalars are decoded during the walk. Other features are skipped.
#pragma once

#include <span>
#include <vector>

#include "core/example/column_part.h"
#include "core/example/decode_fault.h"
#include "core/example/key_index.h"
#include "core/example/plan.h"
#include "core/example/row_values.h"
#include "core/example/scalar_prefix.h"
#include "core/example/sequence_step_prefix.h"
#include "core/example/view_buffers.h"

namespace penstock {

// protobuf rejects longer messages.
inline constexpr std::size_t kLargestExample = 0x7FFFFFFF;

struct RecordRef {
  wire::Bytes payload;
  ViewSource source;  // the buffer of the batch that contains the payload
};

class PartDecoder {
 public:
  explicit PartDecoder(const DecodePlan& plan);

  // Decodes `records`, the first of which is row `first_row` of the batch, into `columns` (one per feature of the
  // plan). Stops at the first record that does not fit. `default_buffer` is the number of the plan's default_bytes in
  // the batch.
  DecodeFault decode(std::span<const RecordRef> records, std::size_t first_row, std::span<ColumnPart> columns,
                     ViewBuffers& buffers, std::int32_t default_buffer);

  // From now on, writes large rows and steps to the batch through `copies`; ordinary copies if nullptr.
  void write_by(NontemporalCopies* copies) { nontemporal_ = copies; }

 private:
  enum class State : std::uint8_t { kAbsent, kFound, kDecoded };
  struct Found {
    wire::Bytes value;
    ViewSource source;
    SharedBuffer joined;  // what contains the value, if not the record
  };

  bool found_entry(int feature, const MapEntry& entry, const RecordRef& record, std::size_t row,
                   std::span<ColumnPart> columns);
  void learn_prefix(std::size_t position, const MapEntry& entry, int feature, const std::byte* end);
  bool find_features(const RecordRef& record, std::size_t row, std::span<ColumnPart> columns);
  bool decode_row(std::size_t feature, std::size_t row, ColumnPart& column);
  bool decode_sequence(std::size_t feature, ColumnPart& column);
  bool fill_missing(const FeaturePlan& plan, std::size_t row, ColumnPart& column);
  bool read_values(const FeaturePlan& plan, wire::Bytes feature, RowValues& values, bool& unset);
  bool check_count(const FeaturePlan& plan, const RowValues& values);
  NontemporalCopies* copies_of(const FeaturePlan& plan) const {
    return plan.item_bytes() >= kMinNontemporalBytes ? nontemporal_ : nullptr;
  }
  bool fail(ExampleFault fault, std::uint64_t expected = 0, std::uint64_t found = 0);

  const DecodePlan& plan_;
  KeyIndex context_;
  KeyIndex sequence_;
  ScalarPrefixes prefixes_;
  std::vector<std::uint8_t> scalar_;               // whether a feature is decoded during the walk
  std::vector<std::size_t> masked_;                // features whose column has a mask
  std::vector<int> same_key_;                      // the next feature with the same key, or kNotRequested
  std::vector<SequenceStepPrefix> step_prefixes_;  // of each feature
  std::vector<std::byte*> dense_;                  // per feature: the memory of row 0, if rows are of one size
  std::uint64_t records_ = 0;                      // started so far
  std::vector<State> states_;                      // of the features of this record
  std::vector<Found> found_;                       // for kFound
  ResolvedFeature resolved_;                       // scratch
  Joined joined_;                                  // scratch
  DecodeFault fault_;
  std::int32_t default_buffer_ = 0;
  NontemporalCopies* nontemporal_ = nullptr;
};

}  // namespace penstock
