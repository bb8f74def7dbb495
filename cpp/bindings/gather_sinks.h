// Destinations of gathered values: numbers of one dtype, or byte strings as views.
#pragma once

#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/dtypes.h"
#include "core/buffer.h"
#include "core/columns/utf8.h"
#include "core/columns/views.h"

namespace penstock::bindings {

using ByteArray = nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>>;
using LengthArray = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using BoolArray = nb::ndarray<nb::numpy, bool, nb::ndim<1>>;
using ViewsArray = nb::ndarray<nb::numpy, std::int32_t, nb::shape<-1, 4>>;

// Bytes that grow without being initialized.
class GrowableBuffer {
 public:
  std::size_t size() const { return size_; }

  std::byte* extend(std::size_t more) {
    if (!buffer_ || size_ + more > buffer_->capacity()) {
      auto larger = std::make_unique<Buffer>(std::max({size_ + more, 2 * size_ + 64, usual_ + usual_ / 8}));
      if (size_ != 0) std::memcpy(larger->data(), buffer_->data(), size_);
      buffer_ = std::move(larger);
    }
    std::byte* end = buffer_->data() + size_;
    size_ += more;
    return end;
  }

  // Gives the bytes away and starts over, with the same capacity.
  ByteArray take() {
    extend(0);
    auto* data = reinterpret_cast<std::uint8_t*>(buffer_->data());
    const nb::capsule owner(buffer_.get(), [](void* p) noexcept { delete static_cast<Buffer*>(p); });
    buffer_.release();
    usual_ = size_;
    size_ = 0;
    return ByteArray(data, {usual_}, owner);
  }

 private:
  std::unique_ptr<Buffer> buffer_;
  std::size_t size_ = 0;
  std::size_t usual_ = 0;
};

template <typename Array, typename T>
Array array_of(std::vector<T> values, std::size_t columns = 0) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  auto* data = reinterpret_cast<typename Array::Scalar*>(owned->data());
  const std::size_t shape[] = {owned->size(), columns};
  const nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  owned.release();
  return Array(data, columns == 0 ? 1 : 2, shape, owner);
}

// The buffer of an object that has one, held for the lifetime of this object.
class HeldBuffer {
 public:
  explicit HeldBuffer(PyObject* object) {
    if (PyObject_CheckBuffer(object) == 0) return;
    // The buffer of a masked array has values at masked positions, which must not be stored.
    if (PyBytes_Check(object) == 0 && PyObject_HasAttrString(object, "mask") != 0) return;
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

// Returns the kind of a buffer's items: 'i'nteger, 'u'nsigned, 'f'loat, 'b'ool, or 0 for anything else.
inline char kind_of(const Py_buffer& view) {
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
    as_bits_ = dtype == "bfloat16";                      // buffers have no such format
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
    if (!exact_) return false;
    if (kind_ == 'f') return floating(value);
    if (value == Py_True || value == Py_False) return put(std::uint64_t{value == Py_True});
    return kind_ != 'b' && PyLong_CheckExact(value) != 0 && integer(value);
  }

  // Whether a buffer is a contiguous array of this dtype. BitReader are accepted only from `convert`: the caller's
  // integers are numbers.
  bool fits(const Py_buffer& view, bool converted) const {
    return (converted || !as_bits_) && static_cast<std::size_t>(view.itemsize) == bytes_ && kind_of(view) == kind_;
  }
  void copy(const Py_buffer& view) {
    const auto size = static_cast<std::size_t>(view.len);
    if (size != 0) std::memcpy(values_.extend(size), view.buf, size);
  }
  void fill(std::size_t count) {
    if (count != 0) std::memset(values_.extend(count * bytes_), 0, count * bytes_);
  }

  std::size_t bytes() const { return values_.size(); }
  nb::tuple take() { return nb::make_tuple(values_.take()); }

 private:
  bool put(std::uint64_t bits) {
    std::memcpy(values_.extend(bytes_), &bits, bytes_);
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
      const long long most = 1LL << (bytes_ == 4 ? 24 : 53);  // up to here, every integer is exact as a float
      if (overflow != 0 || whole > most || whole < -most) return false;
      number = static_cast<double>(whole);
    } else {
      return false;
    }
    if (bytes_ == 8) {
      std::memcpy(values_.extend(8), &number, 8);
      return true;
    }
    const auto rounded = static_cast<float>(number);
    if (std::isinf(rounded) && !std::isinf(number)) return false;
    std::memcpy(values_.extend(4), &rounded, 4);
    return true;
  }

  GrowableBuffer values_;
  char kind_ = 'i';
  std::size_t bytes_ = 8;
  bool exact_ = true;
  bool as_bits_ = false;
};

// Byte strings as views. Small ones are copied into one buffer; large bytes objects are referenced.
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

  bool fits(const Py_buffer&, bool) const { return false; }
  void copy(const Py_buffer&) {}
  void fill(std::size_t count) { views_.resize(views_.size() + count); }

  std::size_t bytes() const { return kViewBytes * views_.size() + large_bytes_ + copies_.size(); }

  // Returns the views, and the objects whose memory they point into.
  nb::tuple take() {
    finish_copies();
    nb::list buffers = std::move(buffers_);
    buffers_ = nb::list();
    large_bytes_ = 0;
    return nb::make_tuple(array_of<ViewsArray>(std::exchange(views_, {}), 4), buffers);
  }

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
      views_.push_back(make_view(value, static_cast<std::int32_t>(buffers_.size()), 0));
      buffers_.append(nb::borrow(keep));
      large_bytes_ += value.size();
      return;
    }
    if (value.size() <= kInlineBytes) {
      views_.push_back(make_view(value, 0, 0));
      return;
    }
    if (copies_.size() + value.size() > kMaxViewBuffer) finish_copies();
    if (place_ < 0) {
      place_ = static_cast<std::int32_t>(buffers_.size());
      buffers_.append(nb::none());
    }
    views_.push_back(make_view(value, place_, static_cast<std::int32_t>(copies_.size())));
    std::memcpy(copies_.extend(value.size()), value.data(), value.size());
  }

  void finish_copies() {
    if (place_ < 0) return;
    buffers_[static_cast<std::size_t>(place_)] = nb::cast(copies_.take());
    place_ = -1;
  }

  bool text_;
  std::vector<View> views_;
  nb::list buffers_;
  std::size_t large_bytes_ = 0;
  GrowableBuffer copies_;
  std::int32_t place_ = -1;  // index in `buffers_` of the copies
};

}  // namespace penstock::bindings
