#include "tests/columns.h"

#include <cstring>
#include <iterator>
#include <string_view>

#include "tests/odd_messages.h"

namespace penstock::tests {
namespace {

struct ElementOfKind {
  Element element;
  std::uint64_t bytes;
};

ElementOfKind random_element(Random& random, Kind kind) {
  switch (kind) {
    case Kind::kBytes:
      return random.one_in(4) ? ElementOfKind{Element::kRaw, random.one_of<std::uint64_t>({1, 2, 4, 8})}
                              : ElementOfKind{Element::kView, 16};
    case Kind::kFloat:
      return random.one_of<ElementOfKind>({{Element::kFloat32, 4},
                                           {Element::kFloat32, 4},
                                           {Element::kFloat64, 8},
                                           {Element::kFloat16, 2},
                                           {Element::kBfloat16, 2}});
    default:
      return random.one_of<ElementOfKind>({{Element::kInt64, 8},
                                           {Element::kInt64, 8},
                                           {Element::kInt64, 8},
                                           {Element::kInt32, 4},
                                           {Element::kInt16, 2},
                                           {Element::kInt8, 1},
                                           {Element::kUint32, 4},
                                           {Element::kUint16, 2},
                                           {Element::kUint8, 1},
                                           {Element::kBool, 1}});
  }
}

FeaturePlan random_feature(Random& random, std::size_t key, bool sequence_example) {
  FeaturePlan plan;
  plan.key = kKeys[key];
  plan.section = sequence_example && random.one_in(2) ? Section::kSequence : Section::kContext;
  plan.kind = static_cast<Kind>(1 + key % 3);  // as odd_messages.cc writes them
  const ElementOfKind chosen = random_element(random, plan.kind);
  plan.element = chosen.element;
  plan.value_bytes = chosen.bytes;
  plan.ragged = random.one_in(2);
  plan.count = random.one_of<std::uint64_t>({1, 1, 1, 2, 3, 0});
  if ((plan.ragged || plan.sequence()) && plan.count == 0) plan.count = 1;
  // Mostly lenient, or hardly any record would fit.
  plan.missing = random.one_of({Missing::kInvalid, Missing::kInvalid, Missing::kEmpty, Missing::kError});
  if (plan.missing == Missing::kEmpty && !plan.ragged && !plan.sequence()) {
    plan.missing = Missing::kDefault;
    plan.default_row.resize(plan.item_bytes());
    for (std::uint64_t i = 0; plan.element == Element::kView && i < plan.count; ++i) {
      store_le32(&plan.default_row[16 * i], 20);  // a view of 20 bytes at the start of the default bytes
      std::memcpy(&plan.default_row[16 * i + 4], "defa", 4);
    }
  }
  plan.unset_takes_default = !random.one_in(8);
  return plan;
}

std::string_view viewed(const std::byte* view, const std::vector<SharedBuffer>& buffers) {
  const std::size_t size = load_le32(view);
  if (size <= 12) return {reinterpret_cast<const char*>(view) + 4, size};
  const Buffer& buffer = *buffers.at(load_le32(view + 8));
  const std::size_t offset = load_le32(view + 12);
  if (offset > buffer.capacity() || size > buffer.capacity() - offset) return "a view outside its buffer";
  return {reinterpret_cast<const char*>(buffer.data()) + offset, size};
}

bool same_values(const FeaturePlan& plan, const DecodedColumn& a, const DecodedBatch& of_a, const DecodedColumn& b,
                 const DecodedBatch& of_b) {
  if (a.items != b.items) return false;
  const std::size_t size = a.items * plan.item_bytes();
  if (plan.element != Element::kView) return size == 0 || std::memcmp(a.values->data(), b.values->data(), size) == 0;
  for (std::size_t i = 0; i < size; i += 16)
    if (viewed(a.values->data() + i, of_a.buffers) != viewed(b.values->data() + i, of_b.buffers)) return false;
  return true;
}

bool same_numbers(const SharedBuffer& a, const SharedBuffer& b, std::size_t size) {
  if (!a || !b) return !a == !b;
  return std::memcmp(a->data(), b->data(), size) == 0;
}

template <typename T>
std::vector<T> copy_of(const SharedBuffer& buffer, std::size_t count) {
  std::vector<T> copy(buffer ? count : 0);
  if (!copy.empty()) std::memcpy(copy.data(), buffer->data(), count * sizeof(T));
  return copy;
}

}  // namespace

DecodePlan random_plan(Random& random) {
  DecodePlan plan;
  plan.sequence_example = random.one_in(2);
  plan.validate_all = random.one_in(2);
  for (std::size_t key = 0; key < std::size(kKeys); ++key)
    if (random.one_in(3)) plan.features.push_back(random_feature(random, key, plan.sequence_example));
  if (random.one_in(6) && !plan.features.empty()) plan.features.push_back(plan.features.front());
  plan.default_bytes = std::make_shared<Buffer>(20);
  std::memcpy(plan.default_bytes->data(), "default, but no more", 20);
  return plan;
}

bool same_batch(const DecodePlan& plan, const DecodedBatch& a, const DecodedBatch& b, std::string& difference) {
  if (a.rows != b.rows) return difference = "rows", false;
  for (std::size_t f = 0; f < plan.features.size(); ++f) {
    const DecodedColumn& x = a.columns[f];
    const DecodedColumn& y = b.columns[f];
    difference = "feature " + std::to_string(f) + ", key \"" + plan.features[f].key + "\"";
    if (!same_numbers(x.offsets, y.offsets, 8 * (a.rows + 1)) || !same_numbers(x.valid, y.valid, a.rows)) return false;
    if (x.steps != y.steps || !same_numbers(x.step_offsets, y.step_offsets, 8 * (x.steps + 1))) return false;
    if (!same_values(plan.features[f], x, a, y, b)) return false;
  }
  return true;
}

EncodableBatch::EncodableBatch(const DecodePlan& plan, const DecodedBatch& batch) {
  memory_.resize(plan.features.size());
  for (std::size_t f = 0; f < plan.features.size(); ++f) {
    const FeaturePlan& feature = plan.features[f];
    const DecodedColumn& column = batch.columns[f];
    Memory& memory = memory_[f];
    memory.values = copy_of<std::byte>(column.values, column.items * feature.item_bytes());
    // In a sequence the outer offsets are those of steps, and the inner ones, if steps vary, those of items.
    auto outer = copy_of<std::int64_t>(column.offsets, batch.rows + 1);
    (feature.sequence() ? memory.step_offsets : memory.offsets) = std::move(outer);
    if (column.step_offsets) memory.offsets = copy_of<std::int64_t>(column.step_offsets, column.steps + 1);
    memory.valid = copy_of<std::uint8_t>(column.valid, batch.rows);
    EncodeColumn encode{feature.key,
                        feature.section,
                        feature.kind,
                        feature.element,
                        feature.value_bytes,
                        feature.count,
                        memory.values,
                        memory.offsets,
                        memory.step_offsets,
                        memory.valid,
                        {}};
    for (const SharedBuffer& buffer : batch.buffers) encode.buffers.push_back({buffer->data(), buffer->capacity()});
    columns_.push_back(std::move(encode));
  }
}

void EncodableBatch::corrupt(Random& random) {
  if (columns_.empty()) return;
  const std::size_t f = random.below(columns_.size());
  Memory& memory = memory_[f];
  EncodeColumn& column = columns_[f];
  const auto wrong = [&] { return static_cast<std::int64_t>(random.one_in(2) ? random.bits() : random.below(8) - 2); };
  switch (random.below(5)) {
    case 0:
      if (!memory.offsets.empty()) memory.offsets[random.below(memory.offsets.size())] = wrong();
      break;
    case 1:
      if (!memory.step_offsets.empty()) memory.step_offsets[random.below(memory.step_offsets.size())] = wrong();
      break;
    case 2:
      if (!memory.values.empty()) memory.values[random.below(memory.values.size())] = static_cast<std::byte>(wrong());
      break;
    case 3:
      column.values = column.values.first(random.below(column.values.size() + 1));
      break;
    default:
      column.valid = column.valid.first(random.below(column.valid.size() + 1));
      break;
  }
}

}  // namespace penstock::tests
