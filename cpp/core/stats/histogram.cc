#include "core/stats/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock {
namespace {

// Numbers of bins stay exact in a double, and so in an integer.
constexpr int kMostBits = 50;

std::int64_t bin_of(double value, double width) {
  const double number = std::floor(value / width);
  return value < 0 && number == 0 ? -1 : static_cast<std::int64_t>(number);  // the quotient may underflow
}

}  // namespace

double Histogram::width_for(double low, double high) const {
  int exponent = 0;
  std::frexp(std::max(std::abs(low), std::abs(high)), &exponent);
  const int least = std::max(exponent - kMostBits, std::numeric_limits<double>::min_exponent - 1);
  double width = std::ldexp(1.0, integers_ ? std::max(least, 0) : least);
  if (const double span = (high / 2 - low / 2) / kBins; span > width) {
    std::frexp(span, &exponent);
    width = std::max(width, std::ldexp(1.0, exponent));
  }
  while (bin_of(high, width) - bin_of(low, width) >= static_cast<std::int64_t>(kBins)) width *= 2;
  return width;
}

void Histogram::cover(double low, double high) {
  if (width_ != 0 && low >= low_ && high <= high_) return;
  if (width_ != 0) {
    low = std::min(low, low_);
    high = std::max(high, high_);
  }
  const double width = std::max(width_for(low, high), width_);
  widen(width, bin_of(low, width));
  low_ = low;
  high_ = high;
}

void Histogram::widen(double width, std::int64_t first) {
  std::array<std::uint64_t, kBins> moved{};
  const int doublings = width_ == 0 ? 0 : std::ilogb(width) - std::ilogb(width_);
  for (std::size_t i = 0; i < kBins; ++i) {
    if (counts_[i] == 0) continue;
    const std::int64_t old = first_ + static_cast<std::int64_t>(i);
    const std::int64_t number = doublings < 63 ? old >> doublings : old < 0 ? -1 : 0;
    moved[static_cast<std::size_t>(number - first)] += counts_[i];
  }
  counts_ = moved;
  width_ = width;
  per_value_ = 1 / width;
  first_ = first;
}

void Histogram::add(std::span<const double> values) {
  if (values.empty()) return;
  const auto [low, high] = std::ranges::minmax(values);
  cover(low, high);
  for (const double value : values) count(value);
}

void Histogram::merge(const Histogram& other) {
  if (other.empty()) return;
  Histogram same = other;
  cover(other.low_, other.high_);
  same.cover(low_, high_);
  for (std::size_t i = 0; i < kBins; ++i) counts_[i] += same.counts_[i];
}

}  // namespace penstock
