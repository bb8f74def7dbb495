#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/elements.h"
#include "io/decode_queue.h"
#include "io/workers.h"

namespace penstock::bindings {
namespace {

using Array = nb::ndarray<nb::numpy>;

// A feature of the plan, and the shape and type of the array that its column becomes.
struct BoundFeature {
  FeaturePlan plan;
  std::vector<std::size_t> shape;  // of one item
  nb::dlpack::dtype type;
};

Missing missing_named(const std::string& name) {
  if (name == "error") return Missing::kError;
  if (name == "empty") return Missing::kEmpty;
  if (name == "default") return Missing::kDefault;
  if (name == "invalid") return Missing::kInvalid;
  throw nb::value_error("missing is one of error, empty, default, invalid");
}

constexpr std::uint64_t kLargestItem = std::uint64_t{1} << 48;

BoundFeature make_feature(nb::bytes key, const std::string& dtype, const std::vector<std::size_t>& shape, bool raw,
                          bool ragged, bool sequence, const std::string& missing, nb::bytes default_row,
                          bool unset_takes_default) {
  BoundFeature bound;
  FeaturePlan& plan = bound.plan;
  plan.key.assign(key.c_str(), key.size());
  plan.section = sequence ? Section::kSequence : Section::kContext;
  bound.shape = shape;
  if (dtype == "view") {
    plan.kind = Kind::kBytes;
    plan.element = Element::kView;
    plan.value_bytes = 16;
    bound.type = type_of(Code::Int, 32);
  } else {
    const ElementInfo& info = info_of(dtype);
    plan.kind = raw ? Kind::kBytes : info.kind;
    plan.element = raw ? Element::kRaw : info.element;
    plan.value_bytes = info.type.bits / 8;
    bound.type = info.type;
  }
  plan.ragged = ragged;
  plan.missing = missing_named(missing);
  plan.unset_takes_default = unset_takes_default;
  for (const std::size_t size : shape) {
    if (size != 0 && plan.count > kLargestItem / size) throw nb::value_error("the shape has too many values");
    plan.count *= size;
  }
  if ((ragged || sequence) && plan.item_bytes() == 0) throw nb::value_error("a ragged feature has no dimension 0");
  plan.default_row.resize(default_row.size());
  if (default_row.size() != 0) std::memcpy(plan.default_row.data(), default_row.c_str(), default_row.size());
  if (plan.missing == Missing::kDefault && plan.default_row.size() != plan.item_bytes())
    throw nb::value_error("the default has another size than the shape");
  return bound;
}

nb::capsule owner_of(SharedBuffer buffer) {
  return nb::capsule(new SharedBuffer(std::move(buffer)),
                     [](void* p) noexcept { delete static_cast<SharedBuffer*>(p); });
}

nb::object array_of(const SharedBuffer& buffer, std::size_t ndim, const std::size_t* shape, nb::dlpack::dtype type) {
  return nb::cast(Array(buffer->data(), ndim, shape, owner_of(buffer), nullptr, type), nb::rv_policy::automatic);
}

nb::object int64_array(const SharedBuffer& buffer, std::size_t size) {
  return array_of(buffer, 1, &size, type_of(Code::Int, 64));
}

class Decoder {
 public:
  Decoder(const std::vector<BoundFeature>& features, nb::bytes default_bytes, bool sequence_example, bool validate_all,
          std::size_t threads)
      : features_(features), workers_(threads) {
    DecodePlan plan;
    for (const BoundFeature& feature : features) {
      plan.features.push_back(feature.plan);
      has_views_ = has_views_ || feature.plan.element == Element::kView;
    }
    plan.sequence_example = sequence_example;
    plan.validate_all = validate_all;
    if (default_bytes.size() != 0) {
      plan.default_bytes = std::make_shared<Buffer>(default_bytes.size());
      std::memcpy(plan.default_bytes->data(), default_bytes.c_str(), default_bytes.size());
    }
    decoder_ = std::make_shared<BatchDecoder>(std::move(plan));
  }

  nb::tuple decode(const std::vector<Chunk>& chunks, nb::list outputs) {
    const Outputs pointers = pointers_of(chunks, outputs);
    DecodedBatch batch;
    {
      const nb::gil_scoped_release release;
      batch = decoder_->decode(chunks, pointers, workers_.threads(),
                               [this](std::size_t n, const auto& task) { workers_.run(n, task); });
    }
    return to_python(batch, outputs);
  }

  // (rows, columns, buffers, fault): a column is an array, or a tuple (values, offsets, step offsets) where rows differ
  // in size; with a mask, that and the mask in a tuple of two.
  nb::tuple to_python(const DecodedBatch& batch, const nb::list& outputs) const {
    if (batch.fault.fault != ExampleFault::kNone)
      return nb::make_tuple(batch.rows, nb::list(), nb::list(), batch.fault);
    nb::list columns;
    for (std::size_t f = 0; f < features_.size(); ++f)
      columns.append(column(batch.columns[f], features_[f], batch.rows,
                            outputs.size() == 0 ? nb::none() : nb::object(outputs[f])));
    nb::list buffers;
    if (has_views_) {
      for (const SharedBuffer& buffer : batch.buffers) {
        const std::size_t size = buffer->capacity();
        buffers.append(array_of(buffer, 1, &size, type_of(Code::UInt, 8)));
      }
    }
    return nb::make_tuple(batch.rows, columns, buffers, nb::none());
  }

  Outputs pointers_of(const std::vector<Chunk>& chunks, const nb::list& outputs) const {
    Outputs pointers;
    if (outputs.size() == 0) return pointers;
    if (outputs.size() != features_.size()) throw nb::value_error("outputs need an entry per feature");
    std::size_t rows = 0;
    for (const Chunk& chunk : chunks) rows += chunk.size();
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

  std::shared_ptr<BatchDecoder> native() const { return decoder_; }

 private:
  nb::object column(const DecodedColumn& column, const BoundFeature& feature, std::size_t rows,
                    nb::object output) const {
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
      values = nb::make_tuple(values, int64_array(column.offsets, rows + 1), steps);
    }
    if (!column.valid) return values;
    return nb::make_tuple(values, array_of(column.valid, 1, &rows, type_of(Code::Bool, 8)));
  }

  std::vector<BoundFeature> features_;
  bool has_views_ = false;
  std::shared_ptr<BatchDecoder> decoder_;
  Workers workers_;
};

class Queue {
 public:
  Queue(const Decoder& decoder, std::size_t threads)
      : decoder_(decoder), queue_(std::make_unique<DecodeQueue>(decoder.native(), threads)) {}
  ~Queue() { close(); }

  void submit(std::vector<Chunk> chunks, nb::list outputs) {
    Outputs pointers = decoder_.pointers_of(chunks, outputs);
    get().submit(std::move(chunks), std::move(pointers));
    outputs_.push_back(std::move(outputs));
  }
  std::size_t pending() { return get().pending(); }
  nb::tuple next() {
    for (;;) {
      std::optional<DecodedBatch> batch;
      DecodeQueue& queue = get();
      {
        const nb::gil_scoped_release release;
        batch = queue.next(std::chrono::milliseconds(100));
      }
      if (batch) {
        const nb::list outputs = std::move(outputs_.front());
        outputs_.pop_front();
        return decoder_.to_python(*batch, outputs);
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
  }
  void close() {
    if (!queue_) return;
    {
      const nb::gil_scoped_release release;
      queue_.reset();
    }
    outputs_.clear();
  }

 private:
  DecodeQueue& get() {
    if (!queue_) throw nb::value_error("the queue is closed");
    return *queue_;
  }

  const Decoder& decoder_;
  std::deque<nb::list> outputs_;  // of the batches that are under way: kept until their threads are done
  std::unique_ptr<DecodeQueue> queue_;
};

const char* name_of(ExampleFault fault) {
  switch (fault) {
    case ExampleFault::kNone:
      return "none";
    case ExampleFault::kMalformed:
      return "malformed";
    case ExampleFault::kTooLarge:
      return "too-large";
    case ExampleFault::kMissing:
      return "missing";
    case ExampleFault::kWrongKind:
      return "wrong-kind";
    case ExampleFault::kWrongCount:
      return "wrong-count";
    case ExampleFault::kNotMultiple:
      return "not-multiple";
    case ExampleFault::kRawSize:
      return "raw-size";
    case ExampleFault::kOutOfRange:
      return "out-of-range";
    case ExampleFault::kInexact:
      return "inexact";
  }
  return "none";
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kBytes:
      return "bytes";
    case Kind::kFloat:
      return "float";
    case Kind::kInt64:
      return "int64";
    default:
      return "unset";
  }
}

Chunk chunk_from_records(nb::list records, const std::string& source) {
  std::size_t total = 0;
  std::vector<std::unique_ptr<BytesView>> views;
  for (nb::handle record : records) {
    views.push_back(std::make_unique<BytesView>(record));
    total += views.back()->bytes().size();
  }
  auto buffer = std::make_shared<Buffer>(total == 0 ? 1 : total);
  auto spans = std::make_shared<std::vector<Span>>();
  std::size_t offset = 0;
  for (const auto& view : views) {
    const auto bytes = view->bytes();
    if (!bytes.empty()) std::memcpy(buffer->data() + offset, bytes.data(), bytes.size());
    spans->push_back({offset, bytes.size()});
    offset += bytes.size();
  }
  const std::size_t count = spans->size();
  return Chunk{buffer, std::move(spans), 0, count, 0, 0, std::make_shared<const std::string>(source)};
}

}  // namespace

void bind_decoding(nb::module_& m) {
  nb::class_<DecodeFault>(m, "DecodeFault", "Why a record does not decode.")
      .def_prop_ro("kind", [](const DecodeFault& f) { return name_of(f.fault); })
      .def_ro("row", &DecodeFault::row, "Row of the batch.")
      .def_prop_ro(
          "feature",
          [](const DecodeFault& f) { return f.in_feature ? std::optional<std::uint32_t>(f.feature) : std::nullopt; },
          "Index of the feature, where the fault lies in one.")
      .def_prop_ro("found_kind", [](const DecodeFault& f) { return name_of(f.found_kind); })
      .def_ro("expected", &DecodeFault::expected, "Values, or bytes.")
      .def_ro("found", &DecodeFault::found, "Values, or bytes.");

  nb::class_<BoundFeature>(m, "FeaturePlan", "What the decoder needs to know about a feature.")
      .def(
          "__init__",
          [](BoundFeature* self, nb::bytes key, const std::string& dtype, const std::vector<std::size_t>& shape,
             bool raw, bool ragged, bool sequence, const std::string& missing, nb::bytes default_row,
             bool unset_takes_default) {
            new (self) BoundFeature(
                make_feature(key, dtype, shape, raw, ragged, sequence, missing, default_row, unset_takes_default));
          },
          nb::kw_only(), nb::arg("key"), nb::arg("dtype"), nb::arg("shape"), nb::arg("raw") = false,
          nb::arg("ragged") = false, nb::arg("sequence") = false, nb::arg("missing") = "error",
          nb::arg("default_row") = nb::bytes(""), nb::arg("unset_takes_default") = true);

  nb::class_<Decoder>(m, "NativeDecoder", "Decodes records into columns.")
      .def(nb::init<const std::vector<BoundFeature>&, nb::bytes, bool, bool, std::size_t>(), nb::arg("features"),
           nb::kw_only(), nb::arg("default_bytes"), nb::arg("sequence_example"), nb::arg("validate_all"),
           nb::arg("threads"))
      .def("decode", &Decoder::decode, nb::arg("chunks"), nb::arg("outputs"),
           nb::sig("def decode(self, chunks: list[RecordChunk], outputs: list[typing.Any]) -> tuple[int, "
                   "list[typing.Any], list[NDArray[numpy.uint8]], DecodeFault | None]"),
           "Decode into new columns, or into the arrays in ``outputs`` (empty, or one or None per feature).");

  nb::class_<Queue>(m, "DecodeQueue", "Decodes batches ahead, side by side; they come out in order.")
      .def(nb::init<const Decoder&, std::size_t>(), nb::arg("decoder"), nb::arg("threads"), nb::keep_alive<1, 2>())
      .def("submit", &Queue::submit, nb::arg("chunks"), nb::arg("outputs"),
           nb::sig("def submit(self, chunks: list[RecordChunk], outputs: list[typing.Any]) -> None"),
           "Start to decode a batch; ``outputs`` as in NativeDecoder.decode.")
      .def_prop_ro("pending", &Queue::pending, "Batches submitted and not taken.")
      .def("next", &Queue::next,
           nb::sig("def next(self) -> tuple[int, list[typing.Any], list[NDArray[numpy.uint8]], DecodeFault | None]"),
           "The oldest batch.")
      .def("close", &Queue::close, "End the threads.");

  m.def("chunk_from_records", &chunk_from_records, nb::arg("records"), nb::arg("source") = "",
        nb::sig("def chunk_from_records(records: list[typing.Any], source: str = \"\") -> RecordChunk"),
        "Copy records into a chunk.");
}

}  // namespace penstock::bindings
