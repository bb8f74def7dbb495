#include "bindings/decoder.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bindings/dtypes.h"

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
    throw nb::value_error("the default does not have the size of the shape");
  return bound;
}

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

}  // namespace

Decoder::Decoder(const std::vector<BoundFeature>& features, nb::bytes default_bytes, bool sequence_example,
                 bool validate_all, bool strict, std::size_t threads)
    : features_(std::make_shared<const std::vector<BoundFeature>>(features)), workers_(threads) {
  DecodePlan plan;
  for (const BoundFeature& feature : features) plan.features.push_back(feature.plan);
  plan.sequence_example = sequence_example;
  plan.validate_all = validate_all;
  plan.strict = strict;
  if (default_bytes.size() != 0) {
    plan.default_bytes = std::make_shared<Buffer>(default_bytes.size());
    std::memcpy(plan.default_bytes->data(), default_bytes.c_str(), default_bytes.size());
  }
  decoder_ = std::make_shared<BatchDecoder>(std::move(plan));
}

DecodedColumns Decoder::decode(const std::vector<Chunk>& chunks, nb::list outputs) {
  const Outputs pointers = pointers_of(rows_of(chunks), outputs);
  DecodedBatch batch;
  {
    const ReleasedGil release;
    batch = decoder_->decode(chunks, pointers, workers_.threads(),
                             [this](std::size_t n, const auto& task) { workers_.run(n, task); });
  }
  return {features_, std::move(batch), std::move(outputs)};
}

Outputs Decoder::pointers_of(std::size_t rows, const nb::list& outputs) const {
  Outputs pointers;
  if (outputs.size() == 0) return pointers;
  if (outputs.size() != features_->size()) throw nb::value_error("outputs need an entry per feature");
  for (std::size_t f = 0; f < features_->size(); ++f) {
    const nb::object output = outputs[f];
    if (output.is_none()) {
      pointers.push_back(nullptr);
      continue;
    }
    const BoundFeature& feature = (*features_)[f];
    // Never converted: a copy would be released before the decoder writes to it.
    const auto array = nb::cast<nb::ndarray<nb::c_contig, nb::device::cpu>>(output, false);
    if (feature.plan.ragged || feature.plan.sequence() || feature.plan.element == Element::kView ||
        array.nbytes() != rows * feature.plan.item_bytes())
      throw nb::value_error(("the output array for " + feature.plan.key + " does not fit").c_str());
    pointers.push_back(static_cast<std::byte*>(array.data()));
  }
  return pointers;
}

void bind_decoder(nb::module_& m) {
  nb::class_<DecodeFault>(m, "DecodeFault", "Why a record does not decode.")
      .def_prop_ro("kind", [](const DecodeFault& f) { return name_of(f.fault); })
      .def_ro("row", &DecodeFault::row, "Row of the batch.")
      .def_prop_ro(
          "feature",
          [](const DecodeFault& f) { return f.in_feature ? std::optional<std::uint32_t>(f.feature) : std::nullopt; },
          "Index of the feature, if the fault is in one.")
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
           nb::sig("def decode(self, chunks: list[RecordChunk], outputs: list[typing.Any]) -> DecodedColumns"),
           "Decode into new columns, or into the arrays in ``outputs`` (empty, or one or None per feature).")
      .def_prop_ro(
          "dense_row_bytes", [](const Decoder& self) { return self.native()->dense_row_bytes(); },
          "Bytes of a row in all columns with rows of one size.");
}

}  // namespace penstock::bindings
