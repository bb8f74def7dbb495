// What the columns of many batches hold: missing values, lengths, ranges, histograms, frequent values, pictures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/columns/views.h"
#include "core/example/batch.h"
#include "core/stats/histogram.h"
#include "core/stats/picture_header.h"
#include "core/stats/value_counts.h"

namespace penstock {

// The type of the values, also of those that a feature stores as raw bytes.
enum class Scalar : std::uint8_t {
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kBytes
};
constexpr std::size_t kScalars = 13;

template <typename T>
struct Range {
  std::uint64_t count = 0;
  T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();
  double total = 0;

  void add(T value, std::uint64_t times = 1) {
    count += times;
    low = value < low ? value : low;
    high = value > high ? value : high;
    total += static_cast<double>(value) * static_cast<double>(times);
  }
  void merge(const Range& other) {
    count += other.count;
    low = other.low < low ? other.low : low;
    high = other.high > high ? other.high : high;
    total += other.total;
  }
};

struct PictureStats {
  std::array<std::uint64_t, 5> formats{};  // by PictureFormat
  Range<std::int64_t> heights, widths;

  void merge(const PictureStats& other);
};

// For one thread; merge() adds what another one found.
class FeatureStats {
 public:
  // `counts_values`: values are labels or names, whose frequencies are of interest.
  FeatureStats(Scalar scalar, bool counts_values);

  // Adds a column without a fault. `buffers` are those of its views.
  void add(const FeaturePlan& plan, const DecodedColumn& column, std::size_t rows, std::span<const Bytes> buffers);
  void merge(const FeatureStats& other);
  // To be called once, before the results are read.
  void finish();

  Scalar scalar = Scalar::kInt64;
  std::uint64_t rows = 0, missing = 0, not_finite = 0;
  Range<std::int64_t> lengths, steps;
  Range<std::int64_t> integers;  // the values, or the sizes of bytes
  Range<double> floats;
  Histogram histogram;
  ValueCounts values;
  bool counts_values = false;  // and no value was too long for it
  PictureStats pictures;

  bool is_float() const { return scalar >= Scalar::kFloat16 && scalar <= Scalar::kFloat64; }
  std::size_t scalar_bytes() const;

 private:
  void add_values(const std::byte* values, std::size_t count, std::span<const Bytes> buffers);
  template <typename T>
  void add_integers(const std::byte* values, std::size_t count);
  template <typename Read>
  void add_floats(std::size_t count, Read read);
  void add_views(Bytes memory, std::span<const Bytes> buffers);

  std::array<std::uint64_t, 256> bytes_{};  // how often each value of one byte occurs
  std::vector<double> scratch_;
};

}  // namespace penstock
