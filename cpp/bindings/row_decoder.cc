#include "bindings/row_decoder.h"

#include <memory>
#include <utility>

namespace penstock::bindings {
namespace {

bool same_type(nb::dlpack::dtype a, nb::dlpack::dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

bool is_scalar(const BoundFeature& feature) {
  const FeaturePlan& plan = feature.plan;
  return plan.count == 1 && feature.shape.empty() && !plan.ragged && !plan.sequence() && !plan.has_mask() &&
         plan.element != Element::kView;
}

}  // namespace

RowDecoder::RowDecoder(const Decoder& decoder, std::vector<std::vector<std::size_t>> scalars)
    : decoder_(decoder), scalars_(std::move(scalars)), grouped_(decoder.features()->size()) {
  const std::vector<BoundFeature>& features = *decoder.features();
  for (const std::vector<std::size_t>& group : scalars_) {
    for (const std::size_t f : group) {
      if (f >= features.size() || grouped_[f] || !is_scalar(features[f]) ||
          !same_type(features[f].type, features[group.front()].type))
        throw nb::value_error("the scalars of a group must have one type");
      grouped_[f] = true;
    }
  }
}

DecodedRow RowDecoder::decode(SharedBuffer frame, std::size_t payload_bytes) const {
  DecodedRow row;
  Outputs outputs(grouped_.size());
  for (const std::vector<std::size_t>& group : scalars_) {
    const std::size_t size = (*decoder_.features())[group.front()].plan.item_bytes();
    row.scalars.push_back(acquire_buffer(size * group.size()));
    std::byte* value = row.scalars.back()->data();
    for (const std::size_t f : group) outputs[f] = std::exchange(value, value + size);
  }
  auto spans = std::make_shared<const std::vector<Span>>(1, Span{kHeaderBytes, payload_bytes});
  row.batch =
      decoder_.native()->decode({{std::move(frame), std::move(spans), 0, 1, 0, 0, nullptr}}, outputs, 1, run_here);
  return row;
}

nb::tuple RowDecoder::to_python(DecodedRow row) const {
  nb::list arrays, columns;
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    const std::size_t size = scalars_[i].size();
    arrays.append(array_of(row.scalars[i], 1, &size, (*decoder_.features())[scalars_[i].front()].type));
  }
  DecodedColumns decoded(decoder_.features(), std::move(row.batch));
  for (std::size_t f = 0; f < grouped_.size(); ++f) columns.append(grouped_[f] ? nb::none() : decoded.column(f));
  return nb::make_tuple(arrays, columns, decoded.buffers());
}

}  // namespace penstock::bindings
