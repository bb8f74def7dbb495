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
#include "bindings/decoder.h"
#include "bindings/elements.h"
#include "io/decode_queue.h"

namespace penstock::bindings {
namespace {

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

class Queue {
 public:
  Queue(const Decoder& decoder, std::size_t threads)
      : decoder_(decoder), queue_(std::make_shared<DecodeQueue>(decoder.native(), threads)) {}
  ~Queue() { close(); }

  void submit(std::vector<Chunk> chunks, nb::list outputs) {
    const std::shared_ptr<DecodeQueue> queue = queue_.get();
    Outputs pointers = decoder_.pointers_of(rows_of(chunks), outputs);
    queue->submit({std::move(chunks), std::move(pointers), {}});
    outputs_.push_back(std::move(outputs));
  }
  std::size_t pending() const { return queue_.get()->pending(); }
  nb::tuple next() {
    const std::shared_ptr<DecodeQueue> queue = queue_.get();
    std::optional<DecodeJob> job;
    try {
      wait_for([&](auto patience) {
        job = queue->next(patience);
        return job.has_value();
      });
    } catch (...) {
      if (queue->pending() < outputs_.size()) outputs_.pop_front();  // it was the job that failed
      throw;
    }
    const nb::list outputs = std::move(outputs_.front());
    outputs_.pop_front();
    return decoder_.to_python(job->batch, outputs);
  }
  void close() {
    queue_.close();
    outputs_.clear();
  }

 private:
  const Decoder& decoder_;
  Closable<DecodeQueue> queue_;
  std::deque<nb::list> outputs_;  // of the batches that are under way: kept until their threads are done
};

const char* name_of(ExampleFault fault) {
  switch (fault) {
    case ExampleFault::kNone:
      return "none";
    case ExampleFault::kMalformed:
      return "malformed";
    case ExampleFault::kOther:
      return "other";
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
  // No file, so no header before the first: as if it were there, or its offset would be below zero.
  return Chunk{buffer, std::move(spans), 0, count, 0, kHeaderBytes, std::make_shared<const std::string>(source)};
}

}  // namespace

void bind_decoding(nb::module_& m) {
  bind_column_memory(m);
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
      .def(nb::init<const std::vector<BoundFeature>&, nb::bytes, bool, bool, bool, std::size_t>(), nb::arg("features"),
           nb::kw_only(), nb::arg("default_bytes"), nb::arg("sequence_example"), nb::arg("validate_all"),
           nb::arg("strict"), nb::arg("threads"))
      .def("decode", &Decoder::decode, nb::arg("chunks"), nb::arg("outputs"),
           nb::sig("def decode(self, chunks: list[RecordChunk], outputs: list[typing.Any]) -> " PENSTOCK_DECODED),
           "Decode into new columns, or into the arrays in ``outputs`` (empty, or one or None per feature).")
      .def_prop_ro(
          "dense_row_bytes", [](const Decoder& self) { return self.native()->dense_row_bytes(); },
          "Memory of a row in the columns whose rows are of one size.");

  nb::class_<Queue>(m, "DecodeQueue", "Decodes batches ahead, side by side; they come out in order.")
      .def(nb::init<const Decoder&, std::size_t>(), nb::arg("decoder"), nb::arg("threads"), nb::keep_alive<1, 2>())
      .def("submit", &Queue::submit, nb::arg("chunks"), nb::arg("outputs"),
           nb::sig("def submit(self, chunks: list[RecordChunk], outputs: list[typing.Any]) -> None"),
           "Start to decode a batch; ``outputs`` as in NativeDecoder.decode.")
      .def_prop_ro("pending", &Queue::pending, "Batches submitted and not taken.")
      .def("next", &Queue::next, nb::sig("def next(self) -> " PENSTOCK_DECODED), "The oldest batch.")
      .def("close", &Queue::close, "End the threads.");

  m.def("chunk_from_records", &chunk_from_records, nb::arg("records"), nb::arg("source") = "",
        nb::sig("def chunk_from_records(records: list[typing.Any], source: str = \"\") -> RecordChunk"),
        "Copy records into a chunk.");
}

}  // namespace penstock::bindings
