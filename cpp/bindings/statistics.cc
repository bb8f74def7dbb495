#include "core/columns/statistics.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <vector>

#include "bindings/bindings.h"
#include "io/workers.h"

namespace penstock::bindings {
namespace {

template <typename T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::vector<std::vector<double>> compute(const Table<T>& values, const std::vector<double>& quantiles,
                                         std::size_t threads) {
  if (!std::ranges::is_sorted(quantiles) ||
      std::ranges::any_of(quantiles, [](double quantile) { return !(quantile >= 0 && quantile <= 1); }))
    throw nb::value_error("quantiles are from 0 to 1, in ascending order");
  const std::size_t rows = values.shape(0), width = values.shape(1);
  std::vector<Statistics> found(width);
  {
    const ReleasedGil release;
    Workers workers(std::max<std::size_t>(1, threads));
    workers.run(width, [&](std::size_t i) { found[i] = statistics_of(values.data() + i, rows, width, quantiles); });
  }
  std::vector<std::vector<double>> results;
  for (const Statistics& one : found) {
    results.push_back({static_cast<double>(one.count), one.mean, one.deviation, one.min, one.max});
    results.back().insert(results.back().end(), one.quantiles.begin(), one.quantiles.end());
  }
  return results;
}

}  // namespace

void bind_statistics(nb::module_& m) {
  constexpr const char* kDoc =
      "Return for each column of a table: the count of its numbers, their mean, standard deviation, minimum and "
      "maximum, "
      "and the quantiles. NaN is left out.";
  m.def("column_statistics", &compute<float>, nb::arg("values").noconvert(), nb::arg("quantiles"), nb::arg("threads"),
        nb::sig("def column_statistics(values: NDArray[numpy.float32], quantiles: Sequence[float], threads: int) -> "
                "list[list[float]]"),
        kDoc);
  m.def("column_statistics", &compute<double>, nb::arg("values").noconvert(), nb::arg("quantiles"), nb::arg("threads"));
}

}  // namespace penstock::bindings
