// Rows of Python objects, gathered into columns.
//
// A value is a scalar, an array, or lists of them, as deep as its feature's shape is long. What is common is taken
// here: exact Python scalars, lists and tuples, arrays of the right dtype that lie in memory in order. Anything else
// goes to `convert(row, value, level)`, in Python, which answers an array of the right dtype (a list, for byte strings)
// or raises.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/elements.h"
#include "core/buffer.h"
#include "core/columns/utf8.h"
#include "core/columns/views.h"

namespace penstock::bindings {
namespace {

using ByteArray = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
using LengthArray = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using BoolArray = nb::ndarray<nb::numpy, bool, nb::ndim<1>>;

// Bytes that grow without being cleared first.
class Growing {
 public:
  std::size_t size() const { return size_; }

  std::byte* extend(std::size_t more) {
    if (!buffer_ || size_ + more > buffer_->capacity()) {
      auto larger = std::make_unique<Buffer>(std::max(size_ + more, 2 * size_ + 4096));
      if (size_ != 0) std::memcpy(larger->data(), buffer_->data(), size_);
      buffer_ = std::move(larger);
    }
    std::byte* end = buffer_->data() + size_;
    size_ += more;
    return end;
  }

  ByteArray take() {
    extend(0);
    auto* data = reinterpret_cast<std::uint8_t*>(buffer_->data());
    const nb::capsule owner(buffer_.get(), [](void* p) noexcept { delete static_cast<Buffer*>(p); });
    buffer_.release();
    return ByteArray(data, {size_}, owner);
  }

 private:
  std::unique_ptr<Buffer> buffer_;
  std::size_t size_ = 0;
};

template <typename Array, typename T>
Array array_of(std::vector<T> values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  auto* data = reinterpret_cast<typename Array::Scalar*>(owned->data());
  const std::size_t size = owned->size();
  const nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  owned.release();
  return Array(data, {size}, owner);
}

// The memory of an object that has one, while this lives.
class HeldBuffer {
 public:
  explicit HeldBuffer(PyObject* object) {
    if (PyObject_CheckBuffer(object) == 0) return;
    held_ = PyObject_GetBuffer(object, &view, PyBUF_FORMAT | PyBUF_STRIDES) == 0;
    if (!held_) PyErr_Clear();
  }
  ~HeldBuffer() {
    if (held_) PyBuffer_Release(&view);
  }
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;

  bool in_order() const { return held_ && PyBuffer_IsContiguous(&view, 'C') != 0; }

  Py_buffer view{};

 private:
  bool held_ = false;
};

// What a buffer's items are: 'i'nteger, 'u'nsigned, 'f'loat, 'b'ool, or 0 for anything else.
char kind_of(const Py_buffer& view) {
  const char* format = view.format == nullptr ? "B" : view.format;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (*format == '\0' || format[1] != '\0') return 0;
  if (std::strchr("bhilq", *format) != nullptr) return 'i';
  if (std::strchr("BHILQ", *format) != nullptr) return 'u';
  if (std::strchr("efd", *format) != nullptr) return 'f';
  return *format == '?' ? 'b' : '\0';
}

// Numbers of one dtype.
class NumberSink {
 public:
  explicit NumberSink(const std::string& dtype) {
    const ElementInfo& info = info_of(dtype);
    bytes_ = info.type.bits / 8;
    exact_ = dtype != "float16" && dtype != "bfloat16";  // Python floats are rounded to these by NumPy
    switch (static_cast<Code>(info.type.code)) {
      case Code::Int:
        kind_ = 'i';
        break;
      case Code::UInt:
        kind_ = 'u';
        break;
      case Code::Float:
        kind_ = 'f';
        break;
      default:
        kind_ = 'b';
    }
  }

  bool scalar(PyObject* value) {
    if (kind_ == 'f') return exact_ && floating(value);
    if (value == Py_True || value == Py_False) return put(std::uint64_t{value == Py_True});
    return kind_ != 'b' && exact_ && PyLong_CheckExact(value) != 0 && integer(value);
  }

  // An array of this dtype, in order.
  bool fits(const Py_buffer& view) const {
    return static_cast<std::size_t>(view.itemsize) == bytes_ && kind_of(view) == kind_;
  }
  void copy(const Py_buffer& view) {
    const auto size = static_cast<std::size_t>(view.len);
    if (size != 0) std::memcpy(values.extend(size), view.buf, size);
  }
  void fill(std::size_t count) {
    if (count != 0) std::memset(values.extend(count * bytes_), 0, count * bytes_);
  }

  Growing values;

 private:
  bool put(std::uint64_t bits) {
    std::memcpy(values.extend(bytes_), &bits, bytes_);
    return true;
  }

  bool integer(PyObject* value) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow > 0 && kind_ == 'u' && bytes_ == 8) {
      const unsigned long long large = PyLong_AsUnsignedLongLong(value);
      if (PyErr_Occurred() == nullptr) return put(large);
      PyErr_Clear();
      return false;
    }
    if (overflow != 0) return false;
    const unsigned bits = static_cast<unsigned>(8 * bytes_);
    if (kind_ == 'u') {
      if (number < 0 || (bits < 64 && number >> bits != 0)) return false;
    } else if (bits < 64 && (number >> (bits - 1)) != (number < 0 ? -1 : 0)) {
      return false;
    }
    return put(static_cast<std::uint64_t>(number));
  }

  bool floating(PyObject* value) {
    double number;
    if (PyFloat_CheckExact(value) != 0) {
      number = PyFloat_AsDouble(value);
    } else if (PyLong_CheckExact(value) != 0) {
      int overflow = 0;
      const long long whole = PyLong_AsLongLongAndOverflow(value, &overflow);
      const long long most = 1LL << (bytes_ == 4 ? 24 : 53);  // up to here every integer is a float
      if (overflow != 0 || whole > most || whole < -most) return false;
      number = static_cast<double>(whole);
    } else {
      return false;
    }
    if (bytes_ == 8) {
      std::memcpy(values.extend(8), &number, 8);
      return true;
    }
    const auto rounded = static_cast<float>(number);
    if (std::isinf(rounded) && !std::isinf(number)) return false;
    std::memcpy(values.extend(4), &rounded, 4);
    return true;
  }

  char kind_ = 'i';
  std::size_t bytes_ = 8;
  bool exact_ = true;
};

// Byte strings as views. Small ones are copied together; large bytes objects are looked at where they are.
class StringSink {
 public:
  explicit StringSink(bool text) : text_(text) {}

  bool scalar(PyObject* value) {
    const char* data = nullptr;
    Py_ssize_t size = 0;
    if (PyUnicode_Check(value) != 0) {
      data = PyUnicode_AsUTF8AndSize(value, &size);
      if (data == nullptr) {
        PyErr_Clear();
        return false;
      }
      add(bytes_at(data, size), nullptr);
    } else if (PyBytes_Check(value) != 0) {
      char* bytes;
      if (PyBytes_AsStringAndSize(value, &bytes, &size) != 0) throw nb::python_error();
      return checked(bytes_at(bytes, size), value);
    } else {
      const HeldBuffer held(value);
      if (!held.in_order() || held.view.ndim != 1 || held.view.itemsize != 1 || kind_of(held.view) != 'u') return false;
      return checked(bytes_at(held.view.buf, held.view.len), nullptr);
    }
    return true;
  }

  bool fits(const Py_buffer&) const { return false; }
  void copy(const Py_buffer&) {}
  void fill(std::size_t count) { views.resize(views.size() + count); }

  // The buffers that the views point into, as objects that have memory.
  nb::list take_buffers() {
    finish_copies();
    return buffers_;
  }

  std::vector<View> views;

 private:
  static constexpr std::size_t kSmall = 4096;

  static Bytes bytes_at(const void* data, Py_ssize_t size) {
    return {static_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
  }

  bool checked(Bytes value, PyObject* keep) {
    if (text_ && !is_utf8(value)) return false;
    add(value, keep);
    return true;
  }

  void add(Bytes value, PyObject* keep) {
    if (value.size() > kMaxViewBuffer) throw nb::value_error("a value has 2 GiB or more");
    if (keep != nullptr && value.size() > kSmall) {
      views.push_back(make_view(value, static_cast<std::int32_t>(buffers_.size()), 0));
      buffers_.append(nb::borrow(keep));
      return;
    }
    if (value.size() <= kInlineBytes) {
      views.push_back(make_view(value, 0, 0));
      return;
    }
    if (copies_.size() + value.size() > kMaxViewBuffer) finish_copies();
    if (place_ < 0) {
      place_ = static_cast<std::int32_t>(buffers_.size());
      buffers_.append(nb::none());
    }
    views.push_back(make_view(value, place_, static_cast<std::int32_t>(copies_.size())));
    std::memcpy(copies_.extend(value.size()), value.data(), value.size());
  }

  void finish_copies() {
    if (place_ < 0) return;
    buffers_[static_cast<std::size_t>(place_)] = nb::cast(copies_.take());
    copies_ = Growing();
    place_ = -1;
  }

  bool text_;
  nb::list buffers_;
  Growing copies_;
  std::int32_t place_ = -1;  // where in `buffers_` the copies will be
};

template <typename Sink>
class Gatherer {
 public:
  Gatherer(Sink& sink, std::vector<std::int64_t> shape, nb::handle convert)
      : sink_(sink), shape_(std::move(shape)), convert_(convert), lengths_(shape_.size()) {}

  void gather(const nb::list& rows) {
    for (row_ = 0; row_ < rows.size(); ++row_) {
      const nb::object value = rows[row_];
      const bool present = !value.is_none();
      valid_.push_back(present);
      absent_ = absent_ || !present;
      if (present)
        visit(value.ptr(), 0);
      else
        fill(0);
    }
  }

  // The lengths of each dimension that varies, outermost first.
  nb::list take_lengths() {
    nb::list taken;
    for (std::size_t level = 0; level < shape_.size(); ++level)
      if (shape_[level] < 0) taken.append(array_of<LengthArray>(std::move(lengths_[level])));
    return taken;
  }

  // Which rows are there; None where all are.
  nb::object take_valid() { return absent_ ? nb::cast(array_of<BoolArray>(std::move(valid_))) : nb::none(); }

 private:
  bool accepts(std::size_t level, std::int64_t size) const { return shape_[level] < 0 || shape_[level] == size; }

  void note(std::size_t level, std::int64_t size, std::size_t times = 1) {
    if (shape_[level] < 0) lengths_[level].insert(lengths_[level].end(), times, size);
  }

  void visit(PyObject* value, std::size_t level) {
    if (level == shape_.size()) {
      if (sink_.scalar(value) || array(value, level)) return;
    } else if (PyList_Check(value) != 0) {
      if (items(value, level, PyList_Size, PyList_GetItem)) return;
    } else if (PyTuple_Check(value) != 0) {
      if (items(value, level, PyTuple_Size, PyTuple_GetItem)) return;
    } else if (array(value, level)) {
      return;
    }
    const nb::object converted = convert_(row_, nb::borrow(value), level);
    if (array(converted.ptr(), level)) return;
    if (level == shape_.size() || PyList_Check(converted.ptr()) == 0 ||
        !items(converted.ptr(), level, PyList_Size, PyList_GetItem))
      throw nb::type_error("convert answered what is no array of the column's dtype and shape");
  }

  bool items(PyObject* list, std::size_t level, Py_ssize_t (*size)(PyObject*),
             PyObject* (*item)(PyObject*, Py_ssize_t)) {
    const Py_ssize_t count = size(list);
    if (!accepts(level, count)) return false;
    note(level, count);
    for (Py_ssize_t i = 0; i < count; ++i) {
      // Held: `convert` is the user's code in part, and may change the list.
      const nb::object value = nb::borrow(item(list, i));
      if (!value.is_valid()) throw nb::python_error();
      visit(value.ptr(), level + 1);
    }
    return true;
  }

  bool array(PyObject* value, std::size_t level) {
    const HeldBuffer held(value);
    const std::size_t rank = shape_.size() - level;
    if (!held.in_order() || static_cast<std::size_t>(held.view.ndim) != rank || !sink_.fits(held.view)) return false;
    for (std::size_t i = 0; i < rank; ++i)
      if (!accepts(level + i, held.view.shape[i])) return false;
    std::size_t times = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      note(level + i, held.view.shape[i], times);
      times *= static_cast<std::size_t>(held.view.shape[i]);
    }
    sink_.copy(held.view);
    return true;
  }

  // An absent row: nothing where its size varies, zeros where it is known.
  void fill(std::size_t level) {
    std::size_t count = 1;
    for (; level < shape_.size(); ++level) {
      if (shape_[level] < 0) {
        note(level, 0, count);
        return;
      }
      count *= static_cast<std::size_t>(shape_[level]);
    }
    sink_.fill(count);
  }

  Sink& sink_;
  std::vector<std::int64_t> shape_;
  nb::handle convert_;
  std::vector<std::vector<std::int64_t>> lengths_;
  std::vector<std::uint8_t> valid_;
  bool absent_ = false;
  std::size_t row_ = 0;
};

nb::tuple gather_numbers(const nb::list& rows, const std::string& dtype, std::vector<std::int64_t> shape,
                         nb::handle convert) {
  NumberSink sink(dtype);
  Gatherer<NumberSink> gatherer(sink, std::move(shape), convert);
  gatherer.gather(rows);
  return nb::make_tuple(sink.values.take(), gatherer.take_lengths(), gatherer.take_valid());
}

nb::tuple gather_strings(const nb::list& rows, bool text, std::vector<std::int64_t> shape, nb::handle convert) {
  StringSink sink(text);
  Gatherer<StringSink> gatherer(sink, std::move(shape), convert);
  gatherer.gather(rows);
  nb::list buffers = sink.take_buffers();
  const std::size_t count = sink.views.size();
  auto views = array_of<nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>>(std::move(sink.views));
  using Views = nb::ndarray<nb::numpy, std::int32_t, nb::shape<-1, 4>>;
  const nb::object owner = nb::cast(views);
  return nb::make_tuple(Views(views.data(), {count, 4}, owner), buffers, gatherer.take_lengths(),
                        gatherer.take_valid());
}

// A row's value by name, or None.
nb::object value_of(nb::handle row, nb::handle name, std::size_t& found) {
  if (PyDict_CheckExact(row.ptr()) != 0) {
    PyObject* value = PyDict_GetItemWithError(row.ptr(), name.ptr());
    if (value == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
    if (value != nullptr) ++found;
    return value == nullptr ? nb::none() : nb::borrow(value);
  }
  if (!nb::cast<bool>(row.attr("__contains__")(name))) return nb::none();
  ++found;
  return row[name];
}

nb::tuple split_rows(const nb::list& rows, const nb::list& names) {
  std::vector<nb::list> columns(names.size());
  nb::object stray = nb::none();
  std::size_t number = 0;
  for (const nb::handle row : rows) {
    if (PyDict_CheckExact(row.ptr()) == 0 && !nb::hasattr(row, "keys")) {
      stray = nb::int_(number);
      break;
    }
    const nb::object held = nb::borrow(row);
    std::size_t found = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].append(value_of(held, names[i], found));
    if (found != nb::len(held)) {
      stray = nb::int_(number);
      break;
    }
    ++number;
  }
  nb::list taken;
  for (const nb::list& column : columns) taken.append(column);
  return nb::make_tuple(taken, stray);
}

bool is_constant(PyObject* value) {
  return value == Py_None || value == Py_True || value == Py_False || PyLong_CheckExact(value) != 0 ||
         PyFloat_CheckExact(value) != 0 || PyUnicode_CheckExact(value) != 0 || PyBytes_CheckExact(value) != 0;
}

nb::object hold_value(nb::handle value, nb::handle copy) {
  if (is_constant(value.ptr())) return nb::borrow(value);
  if (PyList_CheckExact(value.ptr()) != 0) {
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
  if (PyDict_CheckExact(row.ptr()) == 0) return copy(row);
  nb::dict held;
  for (const auto [name, value] : nb::borrow<nb::dict>(row)) held[name] = hold_value(value, copy);
  return held;
}

}  // namespace

void bind_gathering(nb::module_& m) {
  m.def("gather_numbers", &gather_numbers, nb::arg("rows"), nb::arg("dtype"), nb::arg("shape"), nb::arg("convert"),
        nb::sig("def gather_numbers(rows: list[typing.Any], dtype: str, shape: collections.abc.Sequence[int], convert: "
                "collections.abc.Callable[[int, typing.Any, int], typing.Any]) -> "
                "tuple[numpy.typing.NDArray[numpy.uint8], list[numpy.typing.NDArray[numpy.int64]], "
                "numpy.typing.NDArray[numpy.bool_] | None]"),
        "Gather rows of numbers; a size of -1 varies. Answer the values' memory, the lengths of each dimension that "
        "varies, and which rows are not None.");
  m.def("gather_strings", &gather_strings, nb::arg("rows"), nb::arg("text"), nb::arg("shape"), nb::arg("convert"),
        nb::sig("def gather_strings(rows: list[typing.Any], text: bool, shape: collections.abc.Sequence[int], convert: "
                "collections.abc.Callable[[int, typing.Any, int], typing.Any]) -> "
                "tuple[numpy.typing.NDArray[numpy.int32], list[typing.Any], "
                "list[numpy.typing.NDArray[numpy.int64]], numpy.typing.NDArray[numpy.bool_] | None]"),
        "Gather rows of bytes and str as views and their buffers; the rest as gather_numbers.");
  m.def(
      "hold_row", &hold_row, nb::arg("row"), nb::arg("copy"),
      nb::sig("def hold_row(row: typing.Any, copy: collections.abc.Callable[[typing.Any], typing.Any]) -> typing.Any"),
      "A copy of a row that stays as it is when the row changes; ``copy`` makes that of what is no plain Python "
      "object.");
  m.def(
      "split_rows", &split_rows, nb::arg("rows"), nb::arg("names"),
      nb::sig("def split_rows(rows: list[typing.Any], names: list[str]) -> tuple[list[list[typing.Any]], int | None]"),
      "The values of each name, None where a row lacks it; and the first row that is no mapping or has other names.");
}

}  // namespace penstock::bindings
