#include "core/permutation.h"

#include <nanobind/ndarray.h>

#include <memory>
#include <utility>

#include "bindings/bindings.h"

namespace penstock::bindings {
namespace {

using Positions = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Order = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;

Order array_of(std::unique_ptr<std::uint64_t[]> numbers, std::size_t count) {
  std::uint64_t* data = numbers.release();
  return Order(data, {count}, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<std::uint64_t*>(p); }));
}

// Five times as fast as NumPy at detecting a list of integers.
nb::object positions_in(const nb::list& numbers, std::uint64_t length) {
  const std::size_t count = numbers.size();
  auto out = std::make_unique<std::uint64_t[]>(count);
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* number = PyList_GetItem(numbers.ptr(), static_cast<Py_ssize_t>(i));
    if (PyLong_CheckExact(number) == 0) return nb::none();
    int overflow = 0;
    const long long position = PyLong_AsLongLongAndOverflow(number, &overflow);
    out[i] = static_cast<std::uint64_t>(position) + (position < 0 ? length : 0);
    if (overflow != 0 || out[i] >= length) return nb::none();
  }
  return nb::cast(array_of(std::move(out), count));
}

Order permute(const Positions& positions, std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
              std::uint64_t stream) {
  const std::size_t count = positions.shape(0);
  auto out = std::make_unique<std::uint64_t[]>(count);
  bool inside = true;
  {
    const ReleasedGil release;
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = static_cast<std::uint64_t>(positions.data()[i]);
      inside &= out[i] < n;
    }
    if (inside) Permutation(n, {seed, epoch, stream}).apply({out.get(), count});
  }
  if (!inside) throw nb::index_error("a position is not below n");
  return array_of(std::move(out), count);
}

}  // namespace

void bind_permutation(nb::module_& m) {
  m.def("positions_in", &positions_in, nb::arg("numbers"), nb::arg("length"),
        nb::sig("def positions_in(numbers: list[typing.Any], length: int) -> NDArray[numpy.int64] | None"),
        "Return the positions that a list of integers selects in a sequence, negative ones from its end; None if it "
        "contains anything else.");
  m.def("permute", &permute, nb::arg("positions"), nb::arg("n"), nb::kw_only(), nb::arg("seed"), nb::arg("epoch") = 0,
        nb::arg("stream") = 0,
        nb::sig("def permute(positions: NDArray[numpy.int64], n: int, *, seed: int, epoch: int = 0, stream: int = 0) "
                "-> NDArray[numpy.int64]"),
        "Apply a pseudo-random bijection on 0 ... n-1, selected by seed, epoch and stream, to the positions.");
}

}  // namespace penstock::bindings
