#include "core/image/resample.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace penstock::image {
namespace {

// Compiled for AVX2 as well, where the loader can choose. Results do not differ: every lane does the same.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_THREAD__)
#define PENSTOCK_CLONES __attribute__((target_clones("avx2", "default"), optimize("fp-contract=off")))
#else
#define PENSTOCK_CLONES
#endif

// Blends rows of pixels, which are `stride` bytes apart.
PENSTOCK_CLONES void blend(const std::uint8_t* row, std::size_t stride, const float* weights, std::size_t taps,
                           std::size_t count, float* sum) {
  const auto at = [&](std::size_t t, std::size_t i) { return weights[t] * static_cast<float>(row[t * stride + i]); };
  switch (taps) {
    case 1:
      for (std::size_t i = 0; i < count; ++i) sum[i] = at(0, i);
      return;
    case 2:
      for (std::size_t i = 0; i < count; ++i) sum[i] = at(0, i) + at(1, i);
      return;
    case 3:
      for (std::size_t i = 0; i < count; ++i) sum[i] = at(0, i) + at(1, i) + at(2, i);
      return;
    default:
      for (std::size_t i = 0; i < count; ++i) sum[i] = at(0, i) + at(1, i) + at(2, i) + at(3, i);
      for (std::size_t t = 4; t < taps; ++t)
        for (std::size_t i = 0; i < count; ++i) sum[i] += at(t, i);
  }
}

// Rounds to the nearest half-precision number, to the even one of two.
std::uint16_t float16_of(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value), size = bits & 0x7fffffff;
  // A subnormal number: adding one whose last bit is that of the result rounds it.
  const auto tiny = std::bit_cast<std::int32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000;
  const std::int32_t normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;
  const std::int32_t huge = size > 0x7f800000 ? 0x7e00 : 0x7c00;
  const std::int32_t half = size < 0x38800000 ? tiny : size < 0x47800000 ? normal : huge;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | half);
}

PENSTOCK_CLONES void store(const float* values, std::size_t count, SampleType type, std::byte* to) {
  if (type == SampleType::kFloat32) {
    std::memcpy(to, values, count * sizeof(float));
  } else if (type == SampleType::kFloat16) {
    auto* const halves = reinterpret_cast<std::uint16_t*>(to);
    for (std::size_t i = 0; i < count; ++i) halves[i] = float16_of(values[i]);
  } else {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(to);
    for (std::size_t i = 0; i < count; ++i) {
      const float bounded = std::min(std::max(values[i] + 0.5f, 0.0f), 255.0f);
      bytes[i] = static_cast<std::uint8_t>(static_cast<int>(bounded));
    }
  }
}

// Four samples at a time: three channels of a pixel, and one that is ignored.
struct Lanes {
  std::array<float, 4> value;

  static Lanes load(const float* from) {
    Lanes lanes;
    std::memcpy(lanes.value.data(), from, sizeof lanes.value);
    return lanes;
  }
  Lanes times(float factor) const {
    return {{value[0] * factor, value[1] * factor, value[2] * factor, value[3] * factor}};
  }
  Lanes plus(const Lanes& other) const {
    const std::array<float, 4>& more = other.value;
    return {{value[0] + more[0], value[1] + more[1], value[2] + more[2], value[3] + more[3]}};
  }
  Lanes scaled(const Output& output) const {
    const std::array<float, 4>&f = output.factor, &o = output.offset;
    return {{value[0] * f[0] + o[0], value[1] * f[1] + o[1], value[2] * f[2] + o[2], value[3] * f[3] + o[3]}};
  }
};

}  // namespace

void Resampler::Weights::compute(const Extent& extent, std::size_t size, bool antialias) {
  const double scale = extent.length / static_cast<double>(size);
  const double support = antialias ? std::max(scale, 1.0) : 1.0;
  taps = std::min(static_cast<std::size_t>(std::ceil(support)) * 2 + 1, extent.stop - extent.first);
  first.resize(size);
  values.assign(size * taps, 0);
  for (std::size_t i = 0; i < size; ++i) {
    const double center = extent.start + (static_cast<double>(i) + 0.5) * scale;
    const auto lowest = static_cast<double>(extent.first), highest = static_cast<double>(extent.stop - taps);
    const double begin = std::clamp(std::floor(center - support + 0.5), lowest, highest);
    first[i] = static_cast<std::size_t>(begin);
    float* const weights = values.data() + i * taps;
    double sum = 0;
    for (std::size_t t = 0; t < taps; ++t) {
      const double distance = std::abs(begin + static_cast<double>(t) + 0.5 - center) / support;
      if (distance < 1) sum += 1 - distance;
      weights[t] = static_cast<float>(std::max(0.0, 1 - distance));
    }
    if (sum == 0) weights[0] = 1, sum = 1;  // only where the extent has no pixels near the position
    for (std::size_t t = 0; t < taps; ++t) weights[t] = static_cast<float>(weights[t] / sum);
  }
  // Fewer where no position needs all of them.
  while (taps > 1) {
    bool unused = true;
    for (std::size_t i = 0; i < size && unused; ++i) unused = values[i * taps + taps - 1] == 0;
    if (!unused) break;
    for (std::size_t i = 1; i < size; ++i)
      std::copy_n(values.data() + i * taps, taps - 1, values.data() + i * (taps - 1));
    --taps;
  }
}

void Resampler::Weights::reverse() {
  std::reverse(first.begin(), first.end());
  for (std::size_t i = 0, j = first.size(); i + 1 < j--; ++i)
    std::swap_ranges(values.data() + i * taps, values.data() + (i + 1) * taps, values.data() + j * taps);
}

// With kTaps 0, any number of taps.
template <std::size_t kTaps>
void Resampler::resize_row(const Output& output, bool planar, float* to) const {
  const std::size_t taps = kTaps == 0 ? columns_.taps : kTaps;
  const float* weights = columns_.values.data();
  for (std::size_t x = 0; x < output.width; ++x, weights += taps) {
    const float* pixel = blended_.data() + columns_.first[x];
    Lanes sum = Lanes::load(pixel).times(weights[0]);
    for (std::size_t t = 1; t < taps; ++t) sum = sum.plus(Lanes::load(pixel + 3 * t).times(weights[t]));
    sum = sum.scaled(output);
    if (planar)
      for (std::size_t c = 0; c < 3; ++c) to[c * output.width + x] = sum.value[c];
    else
      std::memcpy(to + 3 * x, sum.value.data(), sizeof sum.value);
  }
}

void Resampler::resize_gray_row(const Output& output, float* to) const {
  const float* weights = columns_.values.data();
  for (std::size_t x = 0; x < output.width; ++x, weights += columns_.taps) {
    const float* pixel = blended_.data() + columns_.first[x];
    float sum = 0;
    for (std::size_t t = 0; t < columns_.taps; ++t) sum += weights[t] * pixel[t];
    to[x] = sum * output.factor[0] + output.offset[0];
  }
}

void Resampler::run(const Pixels& source, const Extent& rows, const Extent& columns, bool antialias, bool flip,
                    const Output& output, std::byte* to) {
  const std::size_t channels = output.channels, stride = source.width * channels;
  rows_.compute(rows, output.height, antialias);
  columns_.compute(columns, output.width, antialias);
  if (flip) columns_.reverse();
  for (std::size_t& first : columns_.first) first = (first - columns.first) * channels;
  const std::size_t begin = (columns.first - source.left) * channels;
  const std::size_t count = (columns.stop - columns.first) * channels;
  // Four samples are read and written where a pixel has three.
  blended_.assign(count + 1, 0);
  resized_.resize(output.width * channels + 1);
  const bool planar = output.channels_first && channels > 1;
  const std::size_t sample = output.sample_bytes(), row_bytes = output.width * channels * sample;
  for (std::size_t y = 0; y < output.height; ++y) {
    blend(source.data + (rows_.first[y] - source.top) * stride + begin, stride, rows_.values.data() + y * rows_.taps,
          rows_.taps, count, blended_.data());
    float* const row = resized_.data();
    if (channels == 1) {
      resize_gray_row(output, row);
    } else {
      switch (columns_.taps) {
        case 2:
          resize_row<2>(output, planar, row);
          break;
        case 3:
          resize_row<3>(output, planar, row);
          break;
        case 4:
          resize_row<4>(output, planar, row);
          break;
        default:
          resize_row<0>(output, planar, row);
      }
    }
    if (!planar) {
      store(row, output.width * channels, output.type, to + y * row_bytes);
      continue;
    }
    for (std::size_t c = 0; c < channels; ++c)
      store(row + c * output.width, output.width, output.type, to + (c * output.height + y) * output.width * sample);
  }
}

}  // namespace penstock::image
