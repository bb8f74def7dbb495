// Resizes part of an image, and flips, scales and lays out the result, in one pass over the pixels.
//
// Bilinear: each pixel of the output is a weighted mean of the source pixels within one pixel of the output around it
// (with antialiasing, when shrinking), or of the four nearest ones. Weights are those of Pillow and of tf.image.resize,
// computed in single precision without rounding in between.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/image/pixels.h"

namespace penstock::image {

enum class SampleType { kUint8, kFloat16, kFloat32 };

// How pixels are stored.
struct Output {
  std::size_t height = 0, width = 0, channels = 3;
  SampleType type = SampleType::kUint8;
  bool channels_first = false;
  // Of each channel, after resizing: factor * pixel + offset.
  std::array<float, 4> factor{1, 1, 1, 1}, offset{};

  std::size_t sample_bytes() const { return type == SampleType::kUint8 ? 1 : type == SampleType::kFloat16 ? 2 : 4; }
  std::size_t bytes() const { return height * width * channels * sample_bytes(); }
};

// Part of one side of an image, in pixels. Pixels from `first` to before `stop` are used, and no others.
struct Extent {
  double start = 0, length = 0;
  std::size_t first = 0, stop = 0;
};

// Pixels of a window of an image, whose first one is at (top, left) of it.
struct Pixels {
  const std::uint8_t* data = nullptr;
  std::size_t top = 0, left = 0, width = 0;
};

// Memory that is reused from image to image.
class Resampler {
 public:
  // Writes output.bytes() bytes. The source has the channels of the output.
  void run(const Pixels& source, const Extent& rows, const Extent& columns, bool antialias, bool flip,
           const Output& output, std::byte* to);

 private:
  // For each position of the output, the first source position, and the same number of weights.
  struct Weights {
    std::size_t taps = 0;
    std::vector<std::size_t> first;
    std::vector<float> values;

    void compute(const Extent& extent, std::size_t size, bool antialias);
    void reverse();
  };

  template <std::size_t kTaps>
  void resize_row(const Output& output, bool planar, float* to) const;
  void resize_gray_row(const Output& output, float* to) const;

  Weights rows_, columns_;
  std::vector<float> blended_, resized_;
};

}  // namespace penstock::image
