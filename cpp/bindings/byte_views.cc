// Byte strings as views into buffers: converted to Python objects, compacted into one buffer, and made from offsets.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/held_views.h"
#include "core/buffer.h"
#include "core/columns/utf8.h"
#include "core/columns/views.h"

namespace penstock::bindings {
namespace {

using ByteArray = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;
using ViewsArray = nb::ndarray<nb::numpy, std::int32_t, nb::shape<-1, 4>>;

// Adds the index of the value to the pending UnicodeDecodeError, and throws it.
[[noreturn]] void raise_undecodable(std::size_t i) {
  nb::python_error error;
  const auto reason = nb::cast<std::string>(error.value().attr("reason"));
  error.value().attr("reason") = nb::str((reason + " (value " + std::to_string(i) + " of the column)").c_str());
  throw error;
}

nb::object text_of(Bytes value, std::size_t i) {
  PyObject* text = PyUnicode_DecodeUTF8(reinterpret_cast<const char*>(value.data()),
                                        static_cast<Py_ssize_t>(value.size()), "strict");
  if (text == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) raise_undecodable(i);
    throw nb::python_error();
  }
  return nb::steal(text);
}

nb::object bytes_of(Bytes value) {
  PyObject* bytes =
      PyBytes_FromStringAndSize(reinterpret_cast<const char*>(value.data()), static_cast<Py_ssize_t>(value.size()));
  if (bytes == nullptr) throw nb::python_error();
  return nb::steal(bytes);
}

nb::object views_to_list(nb::handle views, nb::tuple buffers, bool text) {
  const HeldViews held(views, buffers);
  const std::size_t count = held.views().size();
  nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(count)));
  if (!list.is_valid()) throw nb::python_error();
  for (std::size_t i = 0; i < count; ++i) {
    nb::object value = text ? text_of(held.value(i), i) : bytes_of(held.value(i));
    PyList_SetItem(list.ptr(), static_cast<Py_ssize_t>(i), value.release().ptr());
  }
  return list;
}

void check_views(nb::handle views, nb::tuple buffers, bool text) {
  const HeldViews held(views, buffers);
  ViewFault fault;
  {
    const ReleasedGil release;
    fault = first_fault(held.views(), held.buffers(), text);
  }
  if (fault.kind == ViewFault::kStray) HeldViews::raise_stray(fault.index);
  if (fault.kind == ViewFault::kNotText) text_of(held.value(fault.index), fault.index);
}

ViewsArray views_array(std::vector<View> views) {
  auto owned = std::make_unique<std::vector<View>>(std::move(views));
  auto* data = reinterpret_cast<std::int32_t*>(owned->data());
  const std::size_t count = owned->size();
  const nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<std::vector<View>*>(p); });
  owned.release();
  return ViewsArray(data, {count, 4}, owner);
}

// Returns one result for each value of `views`, computed by `compute(views, others, results)` without the GIL.
template <class Result, class Compute>
nb::ndarray<nb::numpy, Result, nb::ndim<1>> for_each_value(const HeldViews& views, const HeldViews& others,
                                                           Compute compute) {
  const std::size_t count = views.views().size();
  auto results = std::make_unique<Result[]>(count);
  ViewFault fault;
  {
    const ReleasedGil release;
    fault = compute(views.views(), views.buffers(), others.views(), others.buffers(),
                    std::span<Result>(results.get(), count));
  }
  if (fault.kind != ViewFault::kNone) HeldViews::raise_stray(fault.index);
  const nb::capsule owner(results.get(), [](void* p) noexcept { delete[] static_cast<Result*>(p); });
  return nb::ndarray<nb::numpy, Result, nb::ndim<1>>(results.release(), {count}, owner);
}

auto compare(nb::handle views, nb::tuple buffers, nb::handle others, nb::tuple other_buffers) {
  const HeldViews left(views, buffers), right(others, other_buffers);
  const std::size_t count = right.views().size();
  if (count != 1 && count != left.views().size())
    throw nb::value_error("both sides need equally many views, or one of them one");
  return for_each_value<std::int8_t>(left, right, compare_views);
}

auto find(nb::handle views, nb::tuple buffers, nb::handle set, nb::tuple set_buffers) {
  return for_each_value<bool>(HeldViews(views, buffers), HeldViews(set, set_buffers), find_views);
}

ByteArray byte_array(std::unique_ptr<Buffer> buffer) {
  auto* data = reinterpret_cast<std::uint8_t*>(buffer->data());
  const std::size_t size = buffer->capacity();
  const nb::capsule owner(buffer.get(), [](void* p) noexcept { delete static_cast<Buffer*>(p); });
  buffer.release();
  return ByteArray(data, {size}, owner);
}

nb::tuple compact_views(nb::handle views, nb::tuple buffers) {
  const HeldViews held(views, buffers);
  // A copy of the views: another thread may change them while they are checked, measured and followed.
  const Bytes memory = held.memory();
  const std::vector<std::byte> copy(memory.begin(), memory.end());
  const ViewArray stable{Bytes(copy)};
  ViewFault fault;
  CompactPlan plan;
  std::vector<std::unique_ptr<Buffer>> copies;
  {
    const ReleasedGil release;
    fault = first_fault(stable, held.buffers(), false);
    if (fault.kind == ViewFault::kNone) {
      plan = plan_compact(stable, held.buffers());
      std::vector<std::byte*> targets;
      for (const std::size_t size : plan.buffer_sizes) {
        copies.push_back(std::make_unique<Buffer>(size));
        targets.push_back(copies.back()->data());
      }
      copy_compact(stable, held.buffers(), plan, targets);
    }
  }
  if (fault.kind != ViewFault::kNone) HeldViews::raise_stray(fault.index);
  nb::list arrays;
  for (auto& filled : copies) arrays.append(byte_array(std::move(filled)));
  return nb::make_tuple(views_array(std::move(plan.views)), nb::tuple(arrays));
}

template <class Offset>
nb::tuple views_of(nb::ndarray<const Offset, nb::ndim<1>, nb::c_contig, nb::device::cpu> offsets, nb::handle data) {
  const BytesView held(data);
  const std::span<const Offset> span(offsets.data(), offsets.size());
  std::optional<WindowedViews> result;
  {
    const ReleasedGil release;
    result = views_of_offsets(span, held.bytes());
  }
  if (!result) throw nb::value_error("offsets decrease, leave the data, or span a value of 2 GiB or more");
  nb::list windows;
  for (const std::size_t window : result->windows) windows.append(window);
  return nb::make_tuple(views_array(std::move(result->views)), windows);
}

}  // namespace

void bind_byte_views(nb::module_& m) {
  m.def("views_to_list", &views_to_list, nb::arg("views"), nb::arg("buffers"), nb::arg("text"),
        nb::sig("def views_to_list(views: object, buffers: tuple[object, ...], text: bool) -> list[typing.Any]"),
        "Return the values of views as bytes, or as str with ``text``.");
  m.def("check_views", &check_views, nb::arg("views"), nb::arg("buffers"), nb::arg("text"),
        nb::sig("def check_views(views: object, buffers: tuple[object, ...], text: bool) -> None"),
        "Raise if a view points outside the buffers or, with ``text``, is not UTF-8.");
  m.def("compact_views", &compact_views, nb::arg("views"), nb::arg("buffers"),
        nb::sig("def compact_views(views: object, buffers: tuple[object, ...]) -> tuple["
                "numpy.typing.NDArray[numpy.int32], tuple[numpy.typing.NDArray[numpy.uint8], ...]]"),
        "Compact the values of views; return new views and their buffers, one for every 2 GiB.");
  m.def("compare_views", &compare, nb::arg("views"), nb::arg("buffers"), nb::arg("others"), nb::arg("other_buffers"),
        nb::sig("def compare_views(views: object, buffers: tuple[object, ...], others: object, "
                "other_buffers: tuple[object, ...]) -> numpy.typing.NDArray[numpy.int8]"),
        "Compare values byte by byte with as many others, or with one: -1, 0 or 1 for each.");
  m.def("find_views", &find, nb::arg("views"), nb::arg("buffers"), nb::arg("set"), nb::arg("set_buffers"),
        nb::sig("def find_views(views: object, buffers: tuple[object, ...], set: object, "
                "set_buffers: tuple[object, ...]) -> numpy.typing.NDArray[numpy.bool_]"),
        "Return whether each value is in a set.");
  constexpr const char* doc =
      "Return views of data[offsets[i]:offsets[i + 1]], and the start of each 2 GiB window that they refer to.";
  m.def("offsets_to_views", &views_of<std::int32_t>, nb::arg("offsets").noconvert(), nb::arg("data"), doc,
        nb::sig("def offsets_to_views(offsets: numpy.typing.NDArray[numpy.int32], data: object) -> tuple["
                "numpy.typing.NDArray[numpy.int32], list[int]]"));
  m.def("offsets_to_views", &views_of<std::int64_t>, nb::arg("offsets").noconvert(), nb::arg("data"), doc,
        nb::sig("def offsets_to_views(offsets: numpy.typing.NDArray[numpy.int64], data: object) -> tuple["
                "numpy.typing.NDArray[numpy.int32], list[int]]"));
}

}  // namespace penstock::bindings
