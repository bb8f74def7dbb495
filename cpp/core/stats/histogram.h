// A histogram of numbers whose range is not known beforehand: at most 64 bins of equal width, a power of two.
//
// The width depends on the smallest and the largest value alone, so that threads can count in any order and add up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

class Histogram {
 public:
  static constexpr std::size_t kBins = 64;

  // The bins of integers are at least 1 wide.
  explicit Histogram(bool integers = true) : integers_(integers) {}

  // Widens the bins so that they cover [low, high], which must be finite.
  void cover(double low, double high);
  // Counts a value that is covered.
  void count(double value, std::uint64_t times = 1) { counts_[static_cast<std::size_t>(bin(value) - first_)] += times; }
  // Counts finite values.
  void add(std::span<const double> values);
  void merge(const Histogram& other);

  bool empty() const { return width_ == 0; }
  double width() const { return width_; }
  // The first bin starts at this many widths.
  std::int64_t first() const { return first_; }
  std::span<const std::uint64_t> counts() const { return counts_; }

 private:
  // Not by std::floor, which is a call unless the build is for newer CPUs.
  std::int64_t bin(double value) const {
    const double number = value * per_value_;
    const auto whole = static_cast<std::int64_t>(number);
    const std::int64_t floor = whole - (static_cast<double>(whole) > number);
    return floor - (value < 0 && floor == 0);  // the product may underflow
  }
  double width_for(double low, double high) const;
  void widen(double width, std::int64_t first);

  bool integers_;
  double low_ = 0, high_ = 0;
  double width_ = 0, per_value_ = 0;  // no value yet
  std::int64_t first_ = 0;
  std::array<std::uint64_t, kBins> counts_{};
};

}  // namespace penstock
