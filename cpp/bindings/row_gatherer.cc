// Gathers rows of Python objects into columns.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/gatherer.h"

namespace penstock::bindings {
namespace {

// Values that are processed in Python: images and tensors.
class ObjectGatherer {
 public:
  explicit ObjectGatherer(nb::object hold) : hold_(std::move(hold)) {}
  void add(nb::handle value) {
    const nb::object held = hold_(value);
    bytes_ += bytes_of(held);
    values_.append(held);
  }
  std::size_t bytes() const { return bytes_; }
  nb::list take() {
    bytes_ = 0;
    nb::list taken = std::move(values_);
    values_ = nb::list();
    return taken;
  }

 private:
  static std::size_t bytes_of(nb::handle value) {
    std::size_t sum = 0;
    if (PyList_CheckExact(value.ptr()) != 0) {
      for (const nb::handle item : nb::borrow<nb::list>(value)) sum += bytes_of(item);
      return sum;
    }
    const HeldBuffer memory(value.ptr());
    return memory.in_order() ? static_cast<std::size_t>(memory.view.len) : sum;
  }

  nb::object hold_;
  nb::list values_;
  std::size_t bytes_ = 0;
};

// The rows of several features.
class RowGatherer {
 public:
  explicit RowGatherer(nb::object refuse) : refuse_(std::move(refuse)) {}
  RowGatherer(const RowGatherer&) = delete;
  RowGatherer& operator=(const RowGatherer&) = delete;

  void add_numbers(nb::str name, const std::string& dtype, std::vector<std::int64_t> shape, nb::object convert) {
    put(std::move(name), Gatherer<NumberSink>(NumberSink(dtype), std::move(shape), std::move(convert)));
  }
  void add_strings(nb::str name, bool text, std::vector<std::int64_t> shape, nb::object convert) {
    put(std::move(name), Gatherer<StringSink>(StringSink(text), std::move(shape), std::move(convert)));
  }
  void add_objects(nb::str name, nb::object hold) { put(std::move(name), ObjectGatherer(std::move(hold))); }

  void add(nb::handle row) {
    const PythonCallScope called;
    const bool plain = PyDict_CheckExact(row.ptr()) != 0;
    if (!plain && !nb::hasattr(row, "keys")) refuse_(rows_, row);
    Py_ssize_t found = 0;
    for (Column& column : columns_) {
      const nb::object value = plain ? item(row, column.name, found) : mapped(row, column.name, found);
      std::visit([&](auto& gatherer) { gatherer.add(value); }, column.gatherer);
    }
    if (found != PyObject_Size(row.ptr())) refuse_(rows_, row);
    ++rows_;
  }

  // Adds rows[start:] until there are `limit` bytes or `most` rows; returns the index of the first one left.
  std::size_t extend(const nb::list& rows, std::size_t start, std::size_t limit, std::size_t most) {
    for (; start < rows.size() && rows_ < most && (rows_ % 64 != 0 || bytes() < limit); ++start)
      add(nb::object(rows[start]));
    return start;
  }

  // Adds values of the only feature.
  void add_values(const nb::list& values) {
    if (columns_.size() != 1) throw nb::value_error("values are of one feature");
    for (std::size_t i = 0; i < values.size(); ++i) {
      const PythonCallScope called;
      const nb::object value = values[i];
      std::visit([&](auto& gatherer) { gatherer.add(value); }, columns_.front().gatherer);
    }
    rows_ += values.size();
  }

  std::size_t rows() const { return rows_; }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Column& column : columns_)
      sum += std::visit([](const auto& gatherer) { return gatherer.bytes(); }, column.gatherer);
    return sum;
  }

  nb::list take() {
    nb::list taken;
    for (Column& column : columns_)
      taken.append(std::visit([](auto& gatherer) -> nb::object { return gatherer.take(); }, column.gatherer));
    rows_ = 0;
    return taken;
  }

 private:
  using AnyGatherer = std::variant<Gatherer<NumberSink>, Gatherer<StringSink>, ObjectGatherer>;
  struct Column {
    nb::str name;
    AnyGatherer gatherer;
  };

  void put(nb::str name, AnyGatherer gatherer) { columns_.push_back({std::move(name), std::move(gatherer)}); }

  static nb::object item(nb::handle row, nb::handle name, Py_ssize_t& found) {
    PyObject* value = PyDict_GetItemWithError(row.ptr(), name.ptr());
    if (value == nullptr) {
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      return nb::none();
    }
    ++found;
    return nb::borrow(value);
  }

  static nb::object mapped(nb::handle row, nb::handle name, Py_ssize_t& found) {
    if (!nb::cast<bool>(row.attr("__contains__")(name))) return nb::none();
    ++found;
    return nb::object(row[name]);
  }

  nb::object refuse_;
  std::vector<Column> columns_;
  std::size_t rows_ = 0;
};

bool is_constant(PyObject* value) {
  return value == Py_None || value == Py_True || value == Py_False || PyLong_CheckExact(value) != 0 ||
         PyFloat_CheckExact(value) != 0 || PyUnicode_CheckExact(value) != 0 || PyBytes_CheckExact(value) != 0;
}

// Counts towards Python's recursion limit: a list may contain itself.
class NestedCall {
 public:
  NestedCall() {
    if (Py_EnterRecursiveCall(" while a row is copied") != 0) throw nb::python_error();
  }
  ~NestedCall() { Py_LeaveRecursiveCall(); }
  NestedCall(const NestedCall&) = delete;
  NestedCall& operator=(const NestedCall&) = delete;
};

nb::object hold_value(nb::handle value, nb::handle copy) {
  if (is_constant(value.ptr())) return nb::borrow(value);
  if (PyList_CheckExact(value.ptr()) != 0) {
    const NestedCall nested;
    const auto list = nb::borrow<nb::list>(value);
    nb::list held;
    for (std::size_t i = 0; i < list.size(); ++i) held.append(hold_value(nb::object(list[i]), copy));
    return held;
  }
  const HeldBuffer memory(value.ptr());
  if (memory.in_order() && memory.view.readonly != 0) return nb::borrow(value);
  return copy(value);
}

nb::object hold_row(nb::handle row, nb::handle copy) {
  const PythonCallScope called;
  if (PyDict_CheckExact(row.ptr()) == 0) return copy(row);
  nb::dict held;
  for (const auto [name, value] : nb::borrow<nb::dict>(row)) held[name] = hold_value(value, copy);
  return held;
}

}  // namespace

void bind_row_gatherer(nb::module_& m) {
  constexpr const char* doc = "Gather a feature; a size of -1 varies. ``convert(row, value, level)`` makes what fits.";
  nb::class_<RowGatherer>(m, "RowGatherer",
                          "Gathers rows into columns; ``refuse(row, value)`` raises for an invalid row.")
      .def(nb::init<nb::object>(), nb::arg("refuse"))
      .def("add_numbers", &RowGatherer::add_numbers, nb::arg("name"), nb::arg("dtype"), nb::arg("shape"),
           nb::arg("convert"), doc)
      .def("add_strings", &RowGatherer::add_strings, nb::arg("name"), nb::arg("text"), nb::arg("shape"),
           nb::arg("convert"), doc)
      .def("add_objects", &RowGatherer::add_objects, nb::arg("name"), nb::arg("hold"),
           "Gather a feature as Python objects, each as returned by ``hold``.")
      .def("add", &RowGatherer::add, nb::arg("row"), nb::sig("def add(self, row: typing.Any) -> None"),
           "Add a row; mutable values are copied.")
      .def("extend", &RowGatherer::extend, nb::arg("rows"), nb::arg("start"), nb::arg("limit"), nb::arg("most"),
           nb::sig("def extend(self, rows: list[typing.Any], start: int, limit: int, most: int) -> int"),
           "Add rows[start:] until there are ``limit`` bytes or ``most`` rows; return the index of the first one left.")
      .def("add_values", &RowGatherer::add_values, nb::arg("values"),
           nb::sig("def add_values(self, values: list[typing.Any]) -> None"), "Add values of the only feature.")
      .def("__len__", &RowGatherer::rows, "Rows gathered so far.")
      .def_prop_ro("nbytes", &RowGatherer::bytes, "Bytes of the rows, approximately.")
      .def("take", &RowGatherer::take, nb::sig("def take(self) -> list[typing.Any]"),
           "Return (memory, lengths, valid, rows), or a list of objects, for each feature, and clear the gatherer.");
  m.def(
      "hold_row", &hold_row, nb::arg("row"), nb::arg("copy"),
      nb::sig("def hold_row(row: typing.Any, copy: collections.abc.Callable[[typing.Any], typing.Any]) -> typing.Any"),
      "A copy of a row that stays as it is when the row changes; ``copy`` makes that of what is no plain Python "
      "object.");
}

}  // namespace penstock::bindings
