#include <nanobind/ndarray.h>

#include "bindings/bindings.h"
#include "core/permutation.h"

namespace penstock::bindings {
namespace {

using Positions = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Order = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;

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
  std::uint64_t* data = out.release();
  return Order(data, {count}, nb::capsule(data, [](void* p) noexcept { delete[] static_cast<std::uint64_t*>(p); }));
}

}  // namespace

void bind_ordering(nb::module_& m) {
  m.def("permute", &permute, nb::arg("positions"), nb::arg("n"), nb::kw_only(), nb::arg("seed"), nb::arg("epoch") = 0,
        nb::arg("stream") = 0,
        nb::sig("def permute(positions: NDArray[numpy.int64], n: int, *, seed: int, epoch: int = 0, stream: int = 0) "
                "-> NDArray[numpy.int64]"),
        "Where a pseudo-random bijection on 0 ... n-1, chosen by seed, epoch and stream, takes the positions.");
}

}  // namespace penstock::bindings
