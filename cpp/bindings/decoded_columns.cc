#include "bindings/decoded_columns.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "bindings/dtypes.h"

namespace penstock::bindings {
namespace {

// Keeps the memory of an array alive: a capsule, which is made several times as fast as an instance of a bound class.
nb::object owner_of(const SharedBuffer& buffer) {
  return nb::capsule(new SharedBuffer(buffer), [](void* held) noexcept { delete static_cast<SharedBuffer*>(held); });
}

// The functions of NumPy's C API that make arrays. Their numbers in its table never change; NumPy's headers would tie
// the build to a version of NumPy. Imported on first use, under the GIL, and never released.
struct NumpyApi {
  PyObject* array_type;
  PyObject* (*new_from_descr)(PyObject* type, PyObject* dtype, int ndim, const Py_ssize_t* shape,
                              const Py_ssize_t* strides, void* data, int flags, PyObject* like);
  int (*set_base_object)(PyObject* array, PyObject* base);

  static constexpr int kContiguous = 0x1, kAligned = 0x100, kWriteable = 0x400;

  static const NumpyApi& get() {
    // Not initialized where it is declared: an import may release the GIL to a thread that would wait here with it.
    static const NumpyApi* api = nullptr;
    if (api == nullptr) {
      const nb::object capsule = nb::module_::import_("numpy._core.multiarray").attr("_ARRAY_API");
      auto** table = static_cast<void**>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
      if (table == nullptr) throw nb::python_error();
      api = new NumpyApi{static_cast<PyObject*>(table[2]),
                         reinterpret_cast<decltype(NumpyApi::new_from_descr)>(table[94]),
                         reinterpret_cast<decltype(NumpyApi::set_base_object)>(table[282])};
    }
    return *api;
  }
};

constexpr std::size_t kMaxDimensions = 64;  // of NumPy 2; NumPy 1 has fewer, and raises

nb::handle numpy_dtype(nb::dlpack::dtype type) {
  static PyObject* dtypes[4][9] = {};  // by kind and bytes
  const auto code = static_cast<Code>(type.code);
  const std::size_t kind = code == Code::Bool ? 0 : code == Code::Int ? 1 : code == Code::UInt ? 2 : 3;
  const std::size_t bytes = type.bits / 8;
  PyObject*& dtype = dtypes[kind][bytes];
  if (dtype == nullptr) {
    const char name[] = {"biuf"[kind], static_cast<char>('0' + bytes), 0};
    dtype = nb::module_::import_("numpy").attr("dtype")(name).release().ptr();
  }
  return dtype;
}

nb::object array_on(const SharedBuffer& buffer, bool writable, std::size_t ndim, const std::size_t* shape,
                    nb::dlpack::dtype type) {
  std::array<Py_ssize_t, kMaxDimensions> sizes;
  if (ndim > sizes.size()) throw nb::value_error("a column has too many dimensions");
  std::size_t left = buffer->capacity() / (type.bits / 8);
  for (std::size_t i = 0; i < ndim; ++i) {
    sizes[i] = static_cast<Py_ssize_t>(shape[i]);
    left = shape[i] == 0 ? 0 : left / shape[i];
  }
  const bool empty = std::find(shape, shape + ndim, std::size_t{0}) != shape + ndim;
  if (left == 0 && !empty) throw std::logic_error("a column is larger than its memory");
  const NumpyApi& numpy = NumpyApi::get();
  const int flags = NumpyApi::kContiguous | NumpyApi::kAligned | (writable ? NumpyApi::kWriteable : 0);
  nb::object array =
      nb::steal(numpy.new_from_descr(numpy.array_type, numpy_dtype(type).inc_ref().ptr(), static_cast<int>(ndim),
                                     sizes.data(), nullptr, buffer->data(), flags, nullptr));
  if (!array.is_valid() || numpy.set_base_object(array.ptr(), owner_of(buffer).release().ptr()) != 0)
    throw nb::python_error();
  return array;
}

}  // namespace

nb::object array_of(const SharedBuffer& buffer, std::size_t ndim, const std::size_t* shape, nb::dlpack::dtype type) {
  return array_on(buffer, true, ndim, shape, type);
}

nb::object DecodedColumns::column(std::size_t feature_number) const {
  if (feature_number >= batch_.columns.size()) throw nb::index_error("the batch has no such column");
  const BoundFeature& feature = (*features_)[feature_number];
  const DecodedColumn& column = batch_.columns[feature_number];
  const auto int64_array = [](const SharedBuffer& buffer, std::size_t size) {
    return array_of(buffer, 1, &size, type_of(Code::Int, 64));
  };
  nb::object values;
  if (outputs_.size() != 0) values = outputs_[feature_number];
  if (!values.is_valid() || values.is_none()) {
    std::vector<std::size_t> shape{column.items};
    if (feature.plan.element == Element::kView)
      shape = {column.items, feature.plan.count, 4};
    else
      shape.insert(shape.end(), feature.shape.begin(), feature.shape.end());
    values = array_of(column.values, shape.size(), shape.data(), feature.type);
  }
  if (column.offsets) {
    nb::object steps = nb::none();
    if (column.step_offsets) steps = int64_array(column.step_offsets, column.steps + 1);
    values = nb::make_tuple(values, int64_array(column.offsets, batch_.rows + 1), steps);
  }
  if (!column.valid) return values;
  return nb::make_tuple(values, array_of(column.valid, 1, &batch_.rows, type_of(Code::Bool, 8)));
}

nb::list DecodedColumns::columns() const {
  nb::list columns;
  for (std::size_t f = 0; f < batch_.columns.size(); ++f) columns.append(column(f));
  return columns;
}

nb::list DecodedColumns::buffers() {
  if (!buffers_.is_valid()) {
    nb::list buffers;
    for (const SharedBuffer& buffer : batch_.buffers) {
      // Read-only: chunks and other batches share the memory.
      const std::size_t size = buffer->capacity();
      buffers.append(array_on(buffer, false, 1, &size, type_of(Code::UInt, 8)));
    }
    buffers_ = std::move(buffers);
  }
  return nb::borrow<nb::list>(buffers_);
}

void bind_decoded_columns(nb::module_& m) {
  nb::class_<DecodedColumns>(m, "DecodedColumns", "The columns of a decoded batch, or why it does not decode.")
      .def("__len__", &DecodedColumns::rows)
      .def_prop_ro(
          "fault", [](const DecodedColumns& self) { return self.is_valid() ? nb::none() : nb::cast(self.fault()); },
          nb::sig("def fault(self) -> DecodeFault | None"), "Why a record does not decode; then there are no columns.")
      .def("column", &DecodedColumns::column, nb::arg("feature"),
           nb::sig("def column(self, feature: int) -> typing.Any"),
           "Return an array; a tuple (values, offsets, step offsets) if rows differ in size; with a mask, a tuple of "
           "that and the mask.")
      .def("columns", &DecodedColumns::columns, nb::sig("def columns(self) -> list[typing.Any]"),
           "Return the columns of all features.")
      .def_prop_ro("buffers", &DecodedColumns::buffers, nb::sig("def buffers(self) -> list[NDArray[numpy.uint8]]"),
                   "The buffers that views point into.");
}

}  // namespace penstock::bindings
