// What the decoders of JPEG and PNG have in common. Both return the pixels that TensorFlow returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::image {

using Bytes = std::span<const std::byte>;

// Rows of pixels, of interleaved channels.
struct Shape {
  std::size_t height = 0, width = 0, channels = 0;

  std::size_t samples() const { return height * width * channels; }
  bool operator==(const Shape&) const = default;
};

// Why an image cannot be decoded: a message without the image's own bytes; null if it can.
using Problem = const char*;

enum class Format { kOther, kJpeg, kPng };

// By its first bytes.
Format format_of(Bytes file);

// What a header may claim before memory is taken for it.
struct Limits {
  std::uint64_t max_pixels = 89'478'485;  // Pillow's default: 256 MiB of RGB
  // As in TensorFlow, for whatever wants to index samples with 32 bits.
  static constexpr std::uint64_t kMaxSamples = std::uint64_t{1} << 29;

  // With `stored` channels as in the file.
  bool allow(std::uint64_t height, std::uint64_t width, std::uint64_t stored) const {
    return height * width <= max_pixels && height * width * stored < kMaxSamples;
  }
};

inline constexpr Problem kTooManyPixels = "it has too many pixels";

}  // namespace penstock::image
