#include "core/stats/feature_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace penstock {
namespace {

constexpr std::array<std::size_t, kScalars> kBytesOf{1, 1, 2, 4, 8, 1, 2, 4, 2, 2, 4, 8, 16};

template <typename T>
T load(const std::byte* values, std::size_t i) {
  T value;
  std::memcpy(&value, values + i * sizeof value, sizeof value);
  return value;
}

double float16_at(const std::byte* values, std::size_t i) {
  const auto bits = load<std::uint16_t>(values, i);
  const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 31) return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
  return sign * (exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24));
}

std::int64_t offset_at(const SharedBuffer& offsets, std::size_t i) { return load<std::int64_t>(offsets->data(), i); }

}  // namespace

void PictureStats::merge(const PictureStats& other) {
  for (std::size_t i = 0; i < formats.size(); ++i) formats[i] += other.formats[i];
  heights.merge(other.heights);
  widths.merge(other.widths);
}

FeatureStats::FeatureStats(Scalar type, bool counts)
    : scalar(type), histogram(!is_float()), counts_values(counts && !is_float()) {}

std::size_t FeatureStats::scalar_bytes() const { return kBytesOf[static_cast<std::size_t>(scalar)]; }

void FeatureStats::add(const FeaturePlan& plan, const DecodedColumn& column, std::size_t batch_rows,
                       std::span<const Bytes> buffers) {
  rows += batch_rows;
  const auto is_missing = [&](std::size_t row) { return column.valid && column.valid->data()[row] == std::byte{}; };
  std::size_t absent = 0;
  for (std::size_t row = 0; column.valid && row < batch_rows; ++row) absent += is_missing(row);
  missing += absent;
  const std::size_t per_item = static_cast<std::size_t>(plan.item_bytes()) / scalar_bytes();
  const std::byte* values = column.values->data();
  if (!column.offsets) {
    if (absent < batch_rows) lengths.add(static_cast<std::int64_t>(per_item), batch_rows - absent);
    for (std::size_t row = 0, end; row < batch_rows; row = end + 1) {  // runs of rows that are there
      for (end = row; end < batch_rows && !is_missing(end); ++end) {
      }
      add_values(values + row * per_item * scalar_bytes(), (end - row) * per_item, buffers);
      if (absent == 0) break;
    }
    return;
  }
  for (std::size_t row = 0; row < batch_rows; ++row) {
    if (is_missing(row)) continue;
    std::int64_t first = offset_at(column.offsets, row), last = offset_at(column.offsets, row + 1);
    if (plan.sequence()) steps.add(last - first);
    if (column.step_offsets) {
      first = offset_at(column.step_offsets, static_cast<std::size_t>(first));
      last = offset_at(column.step_offsets, static_cast<std::size_t>(last));
    }
    lengths.add((last - first) * static_cast<std::int64_t>(per_item));
  }
  add_values(values, static_cast<std::size_t>(column.items) * per_item, buffers);
}

void FeatureStats::add_values(const std::byte* values, std::size_t count, std::span<const Bytes> buffers) {
  switch (scalar) {
    case Scalar::kBool:
    case Scalar::kInt8:
    case Scalar::kUint8:
      for (std::size_t i = 0; i < count; ++i) ++bytes_[std::to_integer<std::size_t>(values[i])];
      return;
    case Scalar::kInt16:
      return add_integers<std::int16_t>(values, count);
    case Scalar::kInt32:
      return add_integers<std::int32_t>(values, count);
    case Scalar::kInt64:
      return add_integers<std::int64_t>(values, count);
    case Scalar::kUint16:
      return add_integers<std::uint16_t>(values, count);
    case Scalar::kUint32:
      return add_integers<std::uint32_t>(values, count);
    case Scalar::kFloat16:
      return add_floats(count, [&](std::size_t i) { return float16_at(values, i); });
    case Scalar::kBfloat16:
      return add_floats(count, [&](std::size_t i) {
        return static_cast<double>(std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(values, i)} << 16));
      });
    case Scalar::kFloat32:
      return add_floats(count, [&](std::size_t i) { return static_cast<double>(load<float>(values, i)); });
    case Scalar::kFloat64:
      return add_floats(count, [&](std::size_t i) { return load<double>(values, i); });
    case Scalar::kBytes:
      return add_views({values, count * kViewBytes}, buffers);
  }
}

template <typename T>
void FeatureStats::add_integers(const std::byte* values, std::size_t count) {
  if (count == 0) return;
  T low = load<T>(values, 0), high = low;
  double total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const T value = load<T>(values, i);
    low = std::min(low, value);
    high = std::max(high, value);
    total += static_cast<double>(value);
  }
  integers.merge({count, low, high, total});
  histogram.cover(static_cast<double>(low), static_cast<double>(high));
  for (std::size_t i = 0; i < count; ++i) histogram.count(static_cast<double>(load<T>(values, i)));
  if (!counts_values) return;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t value = load<T>(values, i);
    this->values.add(std::as_bytes(std::span(&value, 1)));
  }
}

template <typename Read>
void FeatureStats::add_floats(std::size_t count, Read read) {
  if (count == 0) return;
  double low = read(0), high = low, total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = read(i);
    low = value < low ? value : low;
    high = value > high ? value : high;
    total += value;
  }
  if (std::isfinite(low) && std::isfinite(high) && !std::isnan(total)) {
    floats.merge({count, low, high, total});
    histogram.cover(low, high);
    for (std::size_t i = 0; i < count; ++i) histogram.count(read(i));
    return;
  }
  scratch_.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const double value = read(i);
    if (!std::isfinite(value)) {
      ++not_finite;
      continue;
    }
    scratch_.push_back(value);
    floats.add(value);
  }
  histogram.add(scratch_);
}

void FeatureStats::add_views(Bytes memory, std::span<const Bytes> buffers) {
  const ViewArray views(memory);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto value = views.resolve(i, buffers);
    if (!value) continue;
    const auto size = static_cast<std::int64_t>(value->size());
    integers.add(size);
    histogram.cover(static_cast<double>(size), static_cast<double>(size));
    histogram.count(static_cast<double>(size));
    if (value->size() > ValueCounts::kLongestValue) counts_values = false;
    if (counts_values) values.add(*value);
    const auto picture = read_picture_header(*value);
    if (!picture) continue;
    ++pictures.formats[static_cast<std::size_t>(picture->format)];
    if (picture->height != 0 && picture->width != 0) {
      pictures.heights.add(picture->height);
      pictures.widths.add(picture->width);
    }
  }
}

void FeatureStats::merge(const FeatureStats& other) {
  rows += other.rows;
  missing += other.missing;
  not_finite += other.not_finite;
  lengths.merge(other.lengths);
  steps.merge(other.steps);
  integers.merge(other.integers);
  floats.merge(other.floats);
  histogram.merge(other.histogram);
  counts_values = counts_values && other.counts_values;
  if (counts_values) values.merge(other.values);
  pictures.merge(other.pictures);
  for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] += other.bytes_[i];
}

void FeatureStats::finish() {
  for (std::size_t i = 0; i < bytes_.size(); ++i) {
    if (bytes_[i] == 0) continue;
    // Any byte but 0 is true.
    const std::int64_t value = scalar == Scalar::kInt8   ? static_cast<std::int8_t>(i)
                               : scalar == Scalar::kBool ? static_cast<std::int64_t>(i != 0)
                                                         : static_cast<std::int64_t>(i);
    integers.add(value, bytes_[i]);
    histogram.cover(static_cast<double>(value), static_cast<double>(value));
    histogram.count(static_cast<double>(value), bytes_[i]);
    if (counts_values) values.add(std::as_bytes(std::span(&value, 1)), bytes_[i]);
  }
}

}  // namespace penstock
