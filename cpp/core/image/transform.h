// The transform of a training picture: which part of it is used, and how it is decoded, resized, flipped and stored.
#pragma once

#include <optional>
#include <string>

#include "core/image/jpeg.h"
#include "core/image/resample.h"

namespace penstock::image {

struct TransformOptions {
  enum Part {
    kWhole,         // resized to the output, whatever its shape is
    kRandom,        // a random part, resized to the output
    kCenter,        // the center, of the output's size
    kResizedCenter  // the shorter side resized to `shorter_side`, then the center
  };
  Part part = kWhole;
  std::size_t shorter_side = 0;
  std::array<double, 2> area{0.08, 1}, ratio{0.75, 4.0 / 3};  // of random parts
  double flip = 0;                                            // probability
  bool antialias = true;
  bool exact = false;  // decode in full, whatever is used of it
  Output output;
  Limits limits;
  std::uint64_t seed = 0;
};

// What random numbers depend on.
struct PictureKey {
  std::uint64_t epoch = 0, row = 0, item = 0;
};

// The part of a picture that becomes the output.
struct Part {
  double top = 0, left = 0, height = 0, width = 0;
  bool flip = false;
  bool bounded = true;  // whether pixels outside of the part do not count

  // With what random numbers choose; nothing if the picture is smaller than its center is to be.
  static std::optional<Part> choose(const TransformOptions& options, std::size_t height, std::size_t width,
                                    const PictureKey& key);
};

class PictureTransform {
 public:
  explicit PictureTransform(const TransformOptions& options) : options_(options) {}

  // Decodes and transforms a JPEG or PNG file; `to` has room for the output. A problem is valid until the next call.
  Problem run(Bytes file, const PictureKey& key, std::byte* to);

  // Transforms pixels, of the output's channels.
  Problem run(const std::uint8_t* pixels, std::size_t height, std::size_t width, const PictureKey& key, std::byte* to);

  static constexpr Problem kTooSmall = "it is smaller than the part to crop";

 private:
  Problem kept(Problem problem);
  Problem run_jpeg(Bytes file, const PictureKey& key, std::byte* to);
  Problem run_png(Bytes file, const PictureKey& key, std::byte* to);

  const TransformOptions& options_;
  Resampler resampler_;
  std::vector<std::byte> decoded_;
  std::string problem_;
};

}  // namespace penstock::image
