#include "bindings/record_stats.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/decoder.h"

namespace penstock::bindings {
namespace {

constexpr std::array<std::string_view, kScalars> kNames{"bool",    "int8",    "int16",  "int32",   "int64",
                                                        "uint8",   "uint16",  "uint32", "float16", "bfloat16",
                                                        "float32", "float64", "bytes"};
constexpr std::array<const char*, 5> kFormats{"jpeg", "png", "gif", "bmp", "webp"};
constexpr std::size_t kTop = 10;

Scalar scalar_of(const std::string& dtype) {
  const auto found = std::ranges::find(kNames, dtype);
  if (found == kNames.end()) throw nb::value_error("unknown dtype");
  return static_cast<Scalar>(found - kNames.begin());
}

template <typename T>
nb::tuple tuple_of(const Range<T>& range) {
  if (range.count == 0) return nb::make_tuple(0, nb::none(), nb::none(), 0.0);
  return nb::make_tuple(range.count, range.low, range.high, range.total);
}

nb::tuple tuple_of(const Histogram& histogram) {
  nb::list counts;
  for (const std::uint64_t count : histogram.counts()) counts.append(count);
  return nb::make_tuple(histogram.width(), histogram.first(), counts);
}

// Returns the most frequent values with their counts, the number of distinct ones, and whether these are exact.
nb::object frequencies_of(const FeatureStats& feature) {
  if (!feature.counts_values) return nb::none();
  nb::list top;
  for (const ValueCounts::Entry& entry : feature.values.top(kTop)) {
    nb::object value = nb::bytes(entry.value.data(), entry.value.size());
    if (feature.scalar != Scalar::kBytes) {
      std::int64_t number;
      std::memcpy(&number, entry.value.data(), sizeof number);
      value = nb::int_(number);
    }
    top.append(nb::make_tuple(value, entry.count));
  }
  return nb::make_tuple(top, feature.values.distinct(), feature.values.exact());
}

nb::dict dict_of(const FeatureStats& feature) {
  nb::dict found, formats;
  for (std::size_t i = 0; i < kFormats.size(); ++i)
    if (const std::uint64_t count = feature.pictures.formats[i]; count != 0) formats[kFormats[i]] = count;
  found["rows"] = feature.rows;
  found["missing"] = feature.missing;
  found["not_finite"] = feature.not_finite;
  found["lengths"] = tuple_of(feature.lengths);
  found["steps"] = tuple_of(feature.steps);
  found["values"] = feature.is_float() ? tuple_of(feature.floats) : tuple_of(feature.integers);
  found["histogram"] = tuple_of(feature.histogram);
  found["frequencies"] = frequencies_of(feature);
  found["formats"] = formats;
  found["heights"] = tuple_of(feature.pictures.heights);
  found["widths"] = tuple_of(feature.pictures.widths);
  return found;
}

}  // namespace

void bind_record_stats(nb::module_& m) {
  nb::class_<SharedStats>(m, "RecordStats", "Statistics of records, to which any number of threads add.")
      .def(
          "__init__",
          [](SharedStats* self, const Decoder& usual, const Decoder& any,
             const std::vector<std::pair<std::string, bool>>& features) {
            std::vector<FeatureStats> empty;
            for (const auto& [dtype, counts_values] : features) empty.emplace_back(scalar_of(dtype), counts_values);
            for (const Decoder* decoder : {&usual, &any})
              if (decoder->native()->plan().features.size() != empty.size())
                throw nb::value_error("features need an entry for each feature of the decoders");
            for (std::size_t f = 0; f < empty.size(); ++f)
              for (const Decoder* decoder : {&usual, &any})
                if (decoder->native()->plan().features[f].item_bytes() % empty[f].scalar_bytes() != 0)
                  throw nb::value_error("a dtype does not fit its feature");
            new (self) SharedStats{std::make_shared<RecordStats>(usual.native(), any.native(), std::move(empty))};
          },
          nb::arg("usual"), nb::arg("any"), nb::arg("features"),
          nb::sig("def __init__(self, usual: NativeDecoder, any: NativeDecoder, features: list[tuple[str, bool]]) -> "
                  "None"),
          "``features`` are the dtype of each, and whether its values are counted. Records that ``usual`` does not "
          "decode are decoded by ``any``.")
      .def(
          "add",
          [](SharedStats& self, const Chunk& chunk, std::size_t file) {
            const ReleasedGil release;
            return self.native->add(chunk, file);
          },
          nb::arg("chunk"), nb::arg("file"), nb::sig("def add(self, chunk: RecordChunk, file: int) -> bool"),
          "Add the records of a chunk, unless one of them does not decode; return whether they were added.")
      .def(
          "fresh", [](const SharedStats& self) { return SharedStats{self.native->fresh()}; },
          "Return statistics of the same features, without records.")
      .def(
          "merge",
          [](SharedStats& self, const SharedStats& other) {
            const ReleasedGil release;
            self.native->merge(*other.native);
          },
          nb::arg("other"), "Add the records of others, to which no thread adds any more.")
      .def(
          "result",
          [](SharedStats& self) {
            const StatsResult result = self.native->result();
            nb::list features, largest;
            for (const FeatureStats& feature : result.features) features.append(dict_of(feature));
            for (const LargeRecord& record : result.largest)
              largest.append(nb::make_tuple(record.file, record.record, record.bytes));
            return nb::make_tuple(tuple_of(result.sizes), features, largest);
          },
          nb::sig("def result(self) -> tuple[typing.Any, list[dict[str, typing.Any]], list[tuple[int, int, int]]]"),
          "Return the range of the sizes of payloads, what each feature holds, and the largest records (file, record, "
          "bytes).");

  nb::class_<Histogram>(m, "Histogram", "Counts numbers in at most 64 bins of equal width.")
      .def(nb::init<bool>(), nb::arg("integers"))
      .def(
          "add",
          [](Histogram& self, nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu> values) {
            self.add({values.data(), values.size()});
          },
          nb::arg("values"), nb::sig("def add(self, values: NDArray[numpy.float64]) -> None"), "Count finite values.")
      .def_prop_ro(
          "bins", [](const Histogram& self) { return tuple_of(self); },
          nb::sig("def bins(self) -> tuple[float, int, list[int]]"),
          "The width of all bins, the start of the first one in widths, and their counts.");
}

}  // namespace penstock::bindings
