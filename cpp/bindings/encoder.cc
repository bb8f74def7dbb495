#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/dtypes.h"
#include "bindings/frame_buffer.h"
#include "core/example/encode.h"

namespace penstock::bindings {
namespace {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using Int64Array = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using BoolArray = nb::ndarray<const bool, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ByteArray = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A column to encode, and the arrays that keep its memory alive.
struct BoundColumn {
  EncodeColumn column;
  AnyArray values;
  std::optional<Int64Array> offsets, step_offsets;
  std::optional<BoolArray> valid;
  std::vector<ByteArray> buffers;
};

std::span<const std::int64_t> span_of(const std::optional<Int64Array>& array) {
  if (!array) return {};
  return {array->data(), array->size()};
}

void init_column(BoundColumn* self, const std::string& key, const std::string& dtype, AnyArray values,
                 std::uint64_t count, bool raw, bool sequence, std::optional<Int64Array> offsets,
                 std::optional<Int64Array> step_offsets, std::optional<BoolArray> valid,
                 std::vector<ByteArray> buffers) {
  const ElementInfo& info = dtype == kViewElement.name ? kViewElement : info_of(dtype);
  EncodeColumn column;
  column.key = key;
  column.section = sequence ? Section::kSequence : Section::kContext;
  column.kind = raw ? Kind::kBytes : info.kind;
  column.element = raw ? Element::kRaw : info.element;
  column.value_bytes = dtype == kViewElement.name ? 16 : info.type.bits / 8;
  column.count = count;
  if (info.element == Element::kRaw && !raw) throw nb::value_error("uint64 is stored raw");
  if (count != 0 && column.item_bytes() / count != column.value_bytes)
    throw nb::value_error("too many values in a row");
  if (column.item_bytes() == 0 && (offsets || sequence))
    throw nb::value_error("items of a ragged column must not be empty");
  if (sequence && !step_offsets) throw nb::value_error("a sequence column needs step offsets");
  column.values = {static_cast<const std::byte*>(values.data()), values.nbytes()};
  column.offsets = span_of(offsets);
  column.step_offsets = span_of(step_offsets);
  if (valid) column.valid = {reinterpret_cast<const std::uint8_t*>(valid->data()), valid->size()};
  for (const ByteArray& buffer : buffers)
    column.buffers.push_back({reinterpret_cast<const std::byte*>(buffer.data()), buffer.size()});
  new (self) BoundColumn{std::move(column),       std::move(values), std::move(offsets),
                         std::move(step_offsets), std::move(valid),  std::move(buffers)};
}

std::size_t encode(const std::vector<BoundColumn*>& bound, std::size_t rows, std::size_t first, std::size_t limit,
                   GuardedFrames& frames, bool sequence_example) {
  std::vector<EncodeColumn> columns;
  for (const BoundColumn* column : bound) columns.push_back(column->column);
  EncodeResult result;
  frames.alone([&](FrameBuffer& mine) { result = encode_rows(columns, sequence_example, first, rows, limit, mine); });
  switch (result.fault) {
    case EncodeFault::kNone:
      return result.row;
    case EncodeFault::kTooLarge:
      throw nb::value_error(
          ("row " + std::to_string(result.row) + " is larger than an Example may be (2 GiB)").c_str());
    default:
      throw nb::value_error(
          ("column " + columns[result.column].key + " does not hold together at row " + std::to_string(result.row))
              .c_str());
  }
}

}  // namespace

void bind_encoder(nb::module_& m) {
  nb::class_<BoundColumn>(m, "EncodeColumn", "A column to write; it keeps its arrays alive.")
      .def("__init__", &init_column, nb::arg("key"), nb::arg("dtype"), nb::arg("values"), nb::kw_only(),
           nb::arg("count") = 1, nb::arg("raw") = false, nb::arg("sequence") = false, nb::arg("offsets") = nb::none(),
           nb::arg("step_offsets") = nb::none(), nb::arg("valid") = nb::none(),
           nb::arg("buffers") = std::vector<ByteArray>(),
           nb::sig("def __init__(self, key: str, dtype: str, values: NDArray[typing.Any], *, count: int = 1, raw: bool "
                   "= False, sequence: bool = False, offsets: NDArray[numpy.int64] | None = None, step_offsets: "
                   "NDArray[numpy.int64] | None = None, valid: NDArray[numpy.bool_] | None = None, buffers: "
                   "collections.abc.Sequence[NDArray[numpy.uint8]] = ()) -> None"));

  m.def("encode_rows", &encode, nb::arg("columns"), nb::arg("rows"), nb::arg("first"), nb::arg("limit"),
        nb::arg("frames"), nb::arg("sequence_example") = false,
        "Frame rows[first:] as Examples until the frames have ``limit`` bytes; return the first row left.");
}

}  // namespace penstock::bindings
