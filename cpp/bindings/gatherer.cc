#include "bindings/gatherer.h"

namespace penstock::bindings {

template <typename Sink>
void Gatherer<Sink>::add(nb::handle value) {
  const bool present = !value.is_none();
  row_ = valid_.size();
  if (present)
    visit(value.ptr(), 0);
  else
    fill(0);
  valid_.push_back(present);
  absent_ = absent_ || !present;
}

template <typename Sink>
nb::tuple Gatherer<Sink>::take() {
  const std::size_t rows = valid_.size();
  nb::object memory = sink_.take();
  nb::list lengths = take_lengths();
  nb::object valid = take_valid();
  return nb::make_tuple(memory, lengths, valid, rows);
}

// Outermost first.
template <typename Sink>
nb::list Gatherer<Sink>::take_lengths() {
  nb::list taken;
  for (std::size_t level = 0; level < shape_.size(); ++level)
    if (shape_[level] < 0) taken.append(array_of<LengthArray>(std::exchange(lengths_[level], {})));
  return taken;
}

// None if all rows are present.
template <typename Sink>
nb::object Gatherer<Sink>::take_valid() {
  const auto valid = std::exchange(valid_, {});
  return std::exchange(absent_, false) ? nb::cast(array_of<BoolArray>(valid)) : nb::none();
}

template <typename Sink>
void Gatherer<Sink>::note(std::size_t level, std::int64_t size, std::size_t times) {
  if (shape_[level] < 0) lengths_[level].insert(lengths_[level].end(), times, size);
}

template <typename Sink>
void Gatherer<Sink>::visit(PyObject* value, std::size_t level) {
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
  if (array(converted.ptr(), level, true)) return;
  if (level == shape_.size() || PyList_Check(converted.ptr()) == 0 ||
      !items(converted.ptr(), level, PyList_Size, PyList_GetItem))
    throw nb::type_error("convert must return an array of the column's dtype and shape");
}

template <typename Sink>
bool Gatherer<Sink>::items(PyObject* list, std::size_t level, Py_ssize_t (*size)(PyObject*),
                           PyObject* (*item)(PyObject*, Py_ssize_t)) {
  const Py_ssize_t count = size(list);
  if (!accepts(level, count)) return false;
  note(level, count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    // Held: `convert` may run user code that changes the list.
    const nb::object value = nb::borrow(item(list, i));
    if (!value.is_valid()) throw nb::python_error();
    visit(value.ptr(), level + 1);
  }
  return true;
}

template <typename Sink>
bool Gatherer<Sink>::array(PyObject* value, std::size_t level, bool converted) {
  const HeldBuffer held(value);
  const std::size_t rank = shape_.size() - level;
  if (!held.in_order() || static_cast<std::size_t>(held.view.ndim) != rank || !sink_.fits(held.view, converted))
    return false;
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

// A missing row: empty if its size varies, zeros if it is known.
template <typename Sink>
void Gatherer<Sink>::fill(std::size_t level) {
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

template class Gatherer<NumberSink>;
template class Gatherer<StringSink>;

}  // namespace penstock::bindings
