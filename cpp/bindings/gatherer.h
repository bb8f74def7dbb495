// Gathers one feature's values from rows of Python objects into a column.
//
// A value is a scalar, an array, or nested lists of them, as deep as the feature's shape. Common values are handled
// here: exact Python scalars, lists and tuples, contiguous arrays of the right dtype. Anything else goes to
// `convert(row, value, level)` in Python, which returns an array of the right dtype (a list for byte strings) or
// raises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bindings/gather_sinks.h"

namespace penstock::bindings {

template <typename Sink>
class Gatherer {
 public:
  Gatherer(Sink sink, std::vector<std::int64_t> shape, nb::object convert)
      : sink_(std::move(sink)), shape_(std::move(shape)), convert_(std::move(convert)), lengths_(shape_.size()) {}

  void add(nb::handle value);

  std::size_t bytes() const { return sink_.bytes(); }

  // Returns the sink's content, the lengths of the dimensions that vary, which rows are present, and their number.
  nb::tuple take();

 private:
  nb::list take_lengths();
  nb::object take_valid();
  bool accepts(std::size_t level, std::int64_t size) const { return shape_[level] < 0 || shape_[level] == size; }
  void note(std::size_t level, std::int64_t size, std::size_t times = 1);
  void visit(PyObject* value, std::size_t level);
  bool items(PyObject* list, std::size_t level, Py_ssize_t (*size)(PyObject*),
             PyObject* (*item)(PyObject*, Py_ssize_t));
  bool array(PyObject* value, std::size_t level, bool converted = false);
  void fill(std::size_t level);

  Sink sink_;
  std::vector<std::int64_t> shape_;
  nb::object convert_;
  std::vector<std::vector<std::int64_t>> lengths_;
  std::vector<std::uint8_t> valid_;
  bool absent_ = false;
  std::size_t row_ = 0;
};

extern template class Gatherer<NumberSink>;
extern template class Gatherer<StringSink>;

}  // namespace penstock::bindings
