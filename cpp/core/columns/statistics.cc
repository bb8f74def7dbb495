#include "core/columns/statistics.h"

#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

// The numbers before `from` are below those after it.
template <typename T>
double quantile_of(std::vector<T>& values, double wanted, std::size_t& from) {
  const double place = wanted * static_cast<double>(values.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(place), values.size() - 1);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::nth_element(values.begin() + static_cast<std::ptrdiff_t>(from), at, values.end());
  from = below;
  const double low = static_cast<double>(*at), part = place - static_cast<double>(below);
  if (part == 0 || below + 1 == values.size()) return low;
  const double high = static_cast<double>(*std::min_element(at + 1, values.end()));
  return high == low ? low : low + part * (high - low);
}

template <typename T>
Statistics compute(const T* values, std::size_t size, std::size_t stride, std::span<const double> wanted) {
  std::vector<T> numbers;
  numbers.reserve(size);
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const T value = values[i * stride];
    if (std::isnan(value)) continue;
    numbers.push_back(value);
    sum += static_cast<double>(value);
  }
  Statistics found;
  found.count = numbers.size();
  if (numbers.empty()) {
    found.quantiles.assign(wanted.size(), 0);
    return found;
  }
  found.mean = sum / static_cast<double>(numbers.size());
  double squares = 0;
  for (const T value : numbers) {
    const double distance = static_cast<double>(value) - found.mean;
    squares += distance * distance;
  }
  found.deviation = std::sqrt(squares / static_cast<double>(numbers.size()));
  const auto [min, max] = std::minmax_element(numbers.begin(), numbers.end());
  found.min = static_cast<double>(*min);
  found.max = static_cast<double>(*max);
  std::size_t from = 0;
  for (const double quantile : wanted) found.quantiles.push_back(quantile_of(numbers, quantile, from));
  return found;
}

}  // namespace

Statistics statistics_of(const float* values, std::size_t size, std::size_t stride, std::span<const double> wanted) {
  return compute(values, size, stride, wanted);
}

Statistics statistics_of(const double* values, std::size_t size, std::size_t stride, std::span<const double> wanted) {
  return compute(values, size, stride, wanted);
}

}  // namespace penstock
