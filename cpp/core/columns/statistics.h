// Mean, spread and quantiles of the numbers of a column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

struct Statistics {
  double mean = 0, deviation = 0, min = 0, max = 0;  // the deviation is that of the population
  std::vector<double> quantiles;                     // linear between the two nearest numbers, as NumPy's
  std::uint64_t count = 0;                           // without NaN, which is left out; 0: the rest is of no use
};

// The statistics of every `stride`-th of `size` numbers. `wanted` are between 0 and 1, in ascending order. Takes memory
// for a copy of these numbers.
Statistics statistics_of(const float* values, std::size_t size, std::size_t stride, std::span<const double> wanted);
Statistics statistics_of(const double* values, std::size_t size, std::size_t stride, std::span<const double> wanted);

}  // namespace penstock
