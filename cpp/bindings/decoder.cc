#include "bindings/decoder.h"

#include <cstring>

#include "bindings/elements.h"

namespace penstock::bindings {
namespace {

using Array = nb::ndarray<nb::numpy>;
using ReadOnlyBytes = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;

nb::capsule owner_of(SharedBuffer buffer) {
  return nb::capsule(new SharedBuffer(std::move(buffer)),
                     [](void* p) noexcept { delete static_cast<SharedBuffer*>(p); });
}

// Buffers call an integer of 64 bits "long long". Where "long" has as many, that is NumPy's int64, and the other a type
// of the same values that is printed and compared by type as if it were a different one.
bool is_long(nb::dlpack::dtype type) {
  return sizeof(long) == 8 && type.bits == 64 && static_cast<Code>(type.code) != Code::Float;
}

nb::handle long_dtype(Code code) {
  static PyObject* dtypes[2] = {};  // under the GIL; NumPy is not imported before it is needed
  PyObject*& dtype = dtypes[code == Code::UInt];
  if (dtype == nullptr)
    dtype = nb::module_::import_("numpy").attr("dtype")(code == Code::UInt ? "uint64" : "int64").release().ptr();
  return dtype;
}

}  // namespace

nb::object array_of(const SharedBuffer& buffer, std::size_t ndim, const std::size_t* shape, nb::dlpack::dtype type) {
  nb::object array =
      nb::cast(Array(buffer->data(), ndim, shape, owner_of(buffer), nullptr, type), nb::rv_policy::automatic);
  return is_long(type) ? array.attr("view")(long_dtype(static_cast<Code>(type.code))) : array;
}

Decoder::Decoder(const std::vector<BoundFeature>& features, nb::bytes default_bytes, bool sequence_example,
                 bool validate_all, std::size_t threads)
    : features_(features), workers_(threads) {
  DecodePlan plan;
  for (const BoundFeature& feature : features) plan.features.push_back(feature.plan);
  plan.sequence_example = sequence_example;
  plan.validate_all = validate_all;
  if (default_bytes.size() != 0) {
    plan.default_bytes = std::make_shared<Buffer>(default_bytes.size());
    std::memcpy(plan.default_bytes->data(), default_bytes.c_str(), default_bytes.size());
  }
  decoder_ = std::make_shared<BatchDecoder>(std::move(plan));
}

nb::tuple Decoder::decode(const std::vector<Chunk>& chunks, nb::list outputs) {
  const Outputs pointers = pointers_of(rows_of(chunks), outputs);
  DecodedBatch batch;
  {
    const ReleasedGil release;
    batch = decoder_->decode(chunks, pointers, workers_.threads(),
                             [this](std::size_t n, const auto& task) { workers_.run(n, task); });
  }
  return to_python(batch, outputs);
}

nb::tuple Decoder::to_python(const DecodedBatch& batch, const nb::list& outputs) const {
  if (batch.fault.fault != ExampleFault::kNone) return nb::make_tuple(batch.rows, nb::list(), nb::list(), batch.fault);
  nb::list columns;
  for (std::size_t f = 0; f < features_.size(); ++f)
    columns.append(column(f, batch, outputs.size() == 0 ? nb::none() : nb::object(outputs[f])));
  return nb::make_tuple(batch.rows, columns, buffers_of(batch), nb::none());
}

nb::list Decoder::buffers_of(const DecodedBatch& batch) const {
  nb::list buffers;
  if (!decoder_->has_views()) return buffers;
  for (const SharedBuffer& buffer : batch.buffers) {
    // Read-only: chunks and other batches look at the same memory.
    const std::size_t size = buffer->capacity();
    buffers.append(nb::cast(ReadOnlyBytes(buffer->data(), {size}, owner_of(buffer)), nb::rv_policy::automatic));
  }
  return buffers;
}

Outputs Decoder::pointers_of(std::size_t rows, const nb::list& outputs) const {
  Outputs pointers;
  if (outputs.size() == 0) return pointers;
  if (outputs.size() != features_.size()) throw nb::value_error("outputs need an entry per feature");
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const nb::object output = outputs[f];
    if (output.is_none()) {
      pointers.push_back(nullptr);
      continue;
    }
    const BoundFeature& feature = features_[f];
    // Never converted: a copy would be gone before the decoder writes to it.
    const auto array = nb::cast<nb::ndarray<nb::c_contig, nb::device::cpu>>(output, false);
    if (feature.plan.ragged || feature.plan.sequence() || feature.plan.element == Element::kView ||
        array.nbytes() != rows * feature.plan.item_bytes())
      throw nb::value_error(("the memory given for " + feature.plan.key + " does not fit").c_str());
    pointers.push_back(static_cast<std::byte*>(array.data()));
  }
  return pointers;
}

nb::object Decoder::column(std::size_t feature_number, const DecodedBatch& batch, nb::object output) const {
  const BoundFeature& feature = features_[feature_number];
  const DecodedColumn& column = batch.columns[feature_number];
  const auto int64_array = [](const SharedBuffer& buffer, std::size_t size) {
    return array_of(buffer, 1, &size, type_of(Code::Int, 64));
  };
  nb::object values = output;
  if (values.is_none()) {
    std::vector<std::size_t> shape{column.items};
    shape.insert(shape.end(), feature.shape.begin(), feature.shape.end());
    if (feature.plan.element == Element::kView) shape = {column.items, feature.plan.count, 4};
    values = array_of(column.values, shape.size(), shape.data(), feature.type);
  }
  if (column.offsets) {
    nb::object steps = nb::none();
    if (column.step_offsets) steps = int64_array(column.step_offsets, column.steps + 1);
    values = nb::make_tuple(values, int64_array(column.offsets, batch.rows + 1), steps);
  }
  if (!column.valid) return values;
  return nb::make_tuple(values, array_of(column.valid, 1, &batch.rows, type_of(Code::Bool, 8)));
}

}  // namespace penstock::bindings
