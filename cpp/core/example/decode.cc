#include "core/example/decode.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

std::byte tag_of(Kind kind) { return static_cast<std::byte>(static_cast<unsigned>(kind) << 3 | 2); }

// Parses `bytes` as a single length-delimited field, as serializers write it.
bool is_single_field(wire::Bytes bytes, std::byte tag, wire::Bytes& content) {
  if (bytes.size < 2 || *bytes.data != tag) return false;
  wire::Cursor cursor(bytes);
  ++cursor.p;
  return cursor.read_bytes(content) && cursor.done();
}

// Reads a float32 or int64 scalar in the usual encoding; false for any other.
bool read_scalar(const FeaturePlan& plan, wire::Bytes feature, std::byte* out) {
  if (plan.kind == Kind::kFloat) {
    // 12 06 0a 04, then the value
    if (feature.size != 8 || load_le32(feature.data) != 0x040A0612u) return false;
    std::memcpy(out, feature.data + 4, 4);
    return true;
  }
  if (feature.size < 5 || feature.size > 14) return false;
  // 1a n+2 0a n, then the varint of n bytes
  const auto n = static_cast<std::uint32_t>(feature.size - 4);
  if (load_le32(feature.data) != (0x000A001Au | (n + 2) << 8 | n << 24)) return false;
  std::uint64_t value;
  if (n <= 4) {
    // Loads end where the varint ends: there are always enough bytes before it, but maybe none after it.
    if (!read_short_varint(load_le32(feature.end() - 4) >> (32 - 8 * n), n, value)) return false;
  } else if (n <= 8) {
    if (!read_short_varint(load_le64(feature.end() - 8) >> (64 - 8 * n), n, value)) return false;
  } else {
    const std::byte* p = feature.data + 4;
    if (!wire::read_varint(p, feature.end(), value) || p != feature.end()) return false;
  }
  std::memcpy(out, &value, 8);
  return true;
}

// Returns the kind of a valid feature if it is a float or an integer in the usual encoding.
Kind kind_of_scalar(wire::Bytes feature) {
  if (feature.size == 8 && load_le32(feature.data) == 0x040A0612u) return Kind::kFloat;
  if (feature.size < 5 || feature.size > 12) return Kind::kUnset;
  const auto n = static_cast<std::uint32_t>(feature.size - 4);
  if (load_le32(feature.data) != (0x000A001Au | (n + 2) << 8 | n << 24)) return Kind::kUnset;
  // One varint, not several: only its last byte ends one.
  for (std::uint32_t i = 0; i + 1 < n; ++i)
    if ((feature.data[4 + i] & std::byte{0x80}) == std::byte{}) return Kind::kUnset;
  return Kind::kInt64;
}

}  // namespace

PartDecoder::PartDecoder(const DecodePlan& plan)
    : plan_(plan),
      context_(plan, Section::kContext),
      sequence_(plan, Section::kSequence),
      states_(plan.features.size()),
      found_(plan.features.size()) {
  for (std::size_t i = 0; i < plan.features.size(); ++i) {
    scalar_.push_back(is_plain_scalar(plan.features[i]));
    if (plan.features[i].has_mask()) masked_.push_back(i);
    step_prefixes_.emplace_back(plan.features[i]);
    std::size_t next = i + 1;
    const auto same = [&](const FeaturePlan& other) {
      return other.key == plan.features[i].key && other.section == plan.features[i].section;
    };
    while (next < plan.features.size() && !same(plan.features[next])) ++next;
    same_key_.push_back(next < plan.features.size() ? static_cast<int>(next) : KeyIndex::kNotRequested);
  }
}

bool PartDecoder::fail(ExampleFault fault, std::uint64_t expected, std::uint64_t found) {
  fault_.fault = fault;
  fault_.expected = expected;
  fault_.found = found;
  return false;
}

DecodeFault PartDecoder::decode(std::span<const RecordRef> records, std::size_t first_row,
                                std::span<ColumnPart> columns, ViewBuffers& buffers, std::int32_t default_buffer) {
  default_buffer_ = default_buffer;
  dense_.clear();
  for (const ColumnPart& column : columns) dense_.push_back(column.dense);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::size_t row = first_row + i;
    fault_ = {};
    fault_.row = row;
    if (!find_features(records[i], row, columns)) return fault_;
    for (const std::size_t f : masked_) columns[f].valid[row] = states_[f] != State::kAbsent;
    for (std::size_t f = 0; f < columns.size(); ++f) {
      if (states_[f] == State::kDecoded) continue;
      Found& found = found_[f];
      if (states_[f] == State::kFound && found.joined && plan_.features[f].element == Element::kView)
        found.source = {found.joined->data(), buffers.add(found.joined)};
      fault_.feature = static_cast<std::uint32_t>(f);
      fault_.in_feature = true;
      const bool good = plan_.features[f].sequence() ? decode_sequence(f, columns[f]) : decode_row(f, row, columns[f]);
      if (!good) return fault_;
    }
  }
  return {};
}

inline bool PartDecoder::found_entry(int feature, const MapEntry& entry, const RecordRef& record, std::size_t row,
                                     std::span<ColumnPart> columns) {
  const auto f = static_cast<std::size_t>(feature);
  const FeaturePlan& plan = plan_.features[f];
  Found& found = found_[f];
  // An entry is validated even if a later one replaces it.
  if (states_[f] == State::kFound &&
      !(plan.sequence() ? validate_feature_list(found.value) : validate_feature(found.value)))
    return false;
  if (scalar_[f] && read_scalar(plan, entry.value, columns[f].dense + row * plan.value_bytes)) {
    states_[f] = State::kDecoded;
    return true;
  }
  states_[f] = State::kFound;
  found = {entry.value, record.source, entry.joined ? joined_ : nullptr};
  return true;
}

bool PartDecoder::find_features(const RecordRef& record, std::size_t row, std::span<ColumnPart> columns) {
  if (record.payload.size > kLargestExample) return fail(ExampleFault::kTooLarge, kLargestExample, record.payload.size);
  std::fill(states_.begin(), states_.end(), State::kAbsent);
  ++records_;
  std::size_t position[3] = {};
  const auto visit = [&](Section section, const MapEntry& entry) {
    const bool context = section == Section::kContext;
    KeyIndex& index = context ? context_ : sequence_;
    const std::size_t at = position[static_cast<std::size_t>(section)]++;
    const int feature = index.find(entry.key, at);
    if (feature == KeyIndex::kNotRequested) {
      if (!plan_.validate_all) return true;
      if (!context) return validate_feature_list(entry.value);
      if (!validate_feature(entry.value)) return false;
      if (const Kind kind = kind_of_scalar(entry.value); entry.is_short && kind != Kind::kUnset)
        prefixes_.learn(at, entry, record.payload.end(), ScalarPrefixes::kNotRequested, kind, records_);
      return true;
    }
    for (int f = feature; f != KeyIndex::kNotRequested; f = same_key_[static_cast<std::size_t>(f)])
      if (!found_entry(f, entry, record, row, columns)) return false;
    if (entry.is_short && states_[static_cast<std::size_t>(feature)] == State::kDecoded)
      learn_prefix(at, entry, feature, record.payload.end());
    return true;
  };
  const auto claim = [states = states_.data(), dense = dense_.data()](std::size_t f) -> std::byte* {
    // A repeated key takes the general path, which validates what it replaces.
    if (states[f] != State::kAbsent) return nullptr;
    states[f] = State::kDecoded;
    return dense[f];
  };
  const auto skim = [&](Section section, wire::Cursor& cursor) {
    if (section != Section::kContext) return false;
    const std::size_t count = prefixes_.read(cursor, position[1], row, claim);
    position[1] += count;
    return count != 0;
  };
  const bool good = visit_entries(record.payload, plan_.sequence_example, joined_, visit, skim);
  if (!good) return fail(ExampleFault::kMalformed);
  return !plan_.strict || !is_other_message(record.payload) || fail(ExampleFault::kOther);
}

void PartDecoder::learn_prefix(std::size_t position, const MapEntry& entry, int feature, const std::byte* end) {
  const auto f = static_cast<std::size_t>(feature);
  if (same_key_[f] == KeyIndex::kNotRequested)
    prefixes_.learn(position, entry, end, f, plan_.features[f].kind, records_);
}

bool PartDecoder::decode_row(std::size_t feature, std::size_t row, ColumnPart& column) {
  const FeaturePlan& plan = plan_.features[feature];
  const Found& found = found_[feature];
  if (states_[feature] == State::kAbsent) return fill_missing(plan, row, column);
  if (plan.ragged) {
    const std::size_t before = column.values.size();
    RowValues values(plan, found.source, column.values);
    bool unset = false;
    if (!read_values(plan, found.value, values, unset)) return false;
    if (unset) {
      return fill_missing(plan, row, column);
    }
    const std::uint64_t items = (column.values.size() - before) / plan.item_bytes();
    column.lengths.push_back(static_cast<std::int64_t>(items));
    return check_count(plan, values);
  }
  std::byte* out = column.dense + row * plan.item_bytes();
  RowValues values(plan, found.source, out, copies_of(plan));
  bool unset = false;
  if (!read_values(plan, found.value, values, unset)) return false;
  if (unset && plan.unset_takes_default) {
    return fill_missing(plan, row, column);
  }
  return check_count(plan, values);
}

bool PartDecoder::decode_sequence(std::size_t feature, ColumnPart& column) {
  const FeaturePlan& plan = plan_.features[feature];
  const Found& found = found_[feature];
  if (states_[feature] == State::kAbsent) {
    if (plan.missing == Missing::kError) return fail(ExampleFault::kMissing);
    column.lengths.push_back(0);
    return true;
  }
  NontemporalCopies* copies = column.values.is_borrowed() ? copies_of(plan) : nullptr;
  wire::Bytes list = found.value;
  std::int64_t steps = 0;
  const SequenceStepPrefix& prefix = step_prefixes_[feature];
  if (const std::size_t count = prefix.count(list); count != 0) {
    const std::size_t size = plan.item_bytes(), stride = prefix.stride();
    std::byte* out = column.values.reserve_more(count * size);
    for (std::size_t i = 0; i < count; ++i)
      copy_by(copies, out + i * size, list.data + i * stride + prefix.size(), size);
    column.values.commit(count * size);
    steps += static_cast<std::int64_t>(count);
    list = {list.data + count * stride, list.size - count * stride};
  }
  const auto visit = [&](wire::Bytes step) {
    ++steps;
    bool unset = false;
    if (plan.ragged) {
      const std::size_t before = column.values.size();
      RowValues values(plan, found.source, column.values);
      if (!read_values(plan, step, values, unset)) return false;
      column.step_lengths.push_back(static_cast<std::int64_t>((column.values.size() - before) / plan.item_bytes()));
      return unset || check_count(plan, values);
    }
    std::byte* out = column.values.reserve_more(plan.item_bytes());
    RowValues values(plan, found.source, out, copies);
    if (!read_values(plan, step, values, unset) || !check_count(plan, values)) return false;
    column.values.commit(plan.item_bytes());
    return true;
  };
  if (!visit_steps(list, visit)) {
    if (fault_.fault == ExampleFault::kNone) fail(ExampleFault::kMalformed);
    return false;
  }
  column.lengths.push_back(steps);
  return true;
}

bool PartDecoder::fill_missing(const FeaturePlan& plan, std::size_t row, ColumnPart& column) {
  if (column.valid != nullptr) column.valid[row] = 0;
  if (plan.missing == Missing::kError) return fail(ExampleFault::kMissing);
  if (plan.ragged) {
    column.lengths.push_back(0);
    return true;
  }
  const std::uint64_t size = plan.item_bytes();
  std::byte* out = column.dense + row * size;
  if (size == 0) return true;
  if (plan.missing != Missing::kDefault) {
    std::memset(out, 0, size);
    return true;
  }
  std::memcpy(out, plan.default_row.data(), size);
  if (plan.element == Element::kView)
    for (std::uint64_t i = 0; i < plan.count; ++i) place_view(out + 16 * i, default_buffer_);
  return true;
}

// Reads a Feature's values, with a fast path for the usual encoding.
bool PartDecoder::read_values(const FeaturePlan& plan, wire::Bytes feature, RowValues& values, bool& unset) {
  const auto stopped = [&] {
    if (fault_.fault != ExampleFault::kNone) return false;
    const bool own = values.fault() != ExampleFault::kNone;
    return fail(own ? values.fault() : ExampleFault::kMalformed, plan.item_bytes(), values.found());
  };
  wire::Bytes list, run;
  if (is_single_field(feature, tag_of(plan.kind), list)) {
    if (plan.kind != Kind::kBytes && is_single_field(list, std::byte{0x0A}, run)) {
      if (plan.kind == Kind::kInt64) return values.varints(run) || stopped();
      if (run.size % 4 != 0) return fail(ExampleFault::kMalformed);
      return values.floats(run.data, run.size / 4) || stopped();
    }
    return visit_list(plan.kind, list, values) || stopped();
  }
  if (!resolve_feature(feature, resolved_)) return fail(ExampleFault::kMalformed);
  unset = resolved_.kind == Kind::kUnset;
  if (unset) return true;
  if (resolved_.kind != plan.kind) {
    fault_.found_kind = resolved_.kind;
    return fail(ExampleFault::kWrongKind);
  }
  for (const wire::Bytes part : resolved_.lists)
    if (!visit_list(plan.kind, part, values)) return stopped();
  return true;
}

bool PartDecoder::check_count(const FeaturePlan& plan, const RowValues& values) {
  if (plan.element == Element::kRaw) return values.count() == 1 || fail(ExampleFault::kWrongCount, 1, values.count());
  if (plan.ragged)
    return values.count() % plan.count == 0 || fail(ExampleFault::kNotMultiple, plan.count, values.count());
  return values.count() == plan.count || fail(ExampleFault::kWrongCount, plan.count, values.count());
}

}  // namespace penstock
