#include "core/image/transform.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/image/png.h"

namespace penstock::image {
namespace {

// A stream of pseudo-random numbers for each key: SplitMix64, from a state that mixes all of the key.
class Draws {
 public:
  Draws(std::uint64_t seed, const PictureKey& key) : state_(seed) {
    for (const std::uint64_t part : {key.epoch, key.row, key.item}) state_ = next() ^ (part * 0xD1342543DE82EF95u);
  }

  // In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  std::size_t below(std::size_t count) {
    return std::min(count - 1, static_cast<std::size_t>(uniform() * static_cast<double>(count)));
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

// As torchvision's RandomResizedCrop: ten attempts, then the center, with the nearest ratio that is allowed.
Part random_part(const TransformOptions& options, double height, double width, Draws& draws) {
  const std::array<double, 2> logs{std::log(options.ratio[0]), std::log(options.ratio[1])};
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = height * width * draws.between(options.area[0], options.area[1]);
    const double ratio = std::exp(draws.between(logs[0], logs[1]));
    const double w = std::nearbyint(std::sqrt(area * ratio)), h = std::nearbyint(std::sqrt(area / ratio));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    const auto top = static_cast<double>(draws.below(static_cast<std::size_t>(height - h) + 1));
    const auto left = static_cast<double>(draws.below(static_cast<std::size_t>(width - w) + 1));
    return {top, left, h, w};
  }
  double h = height, w = width;
  if (width / height < options.ratio[0])
    h = std::clamp(std::nearbyint(width / options.ratio[0]), 1.0, height);
  else if (width / height > options.ratio[1])
    w = std::clamp(std::nearbyint(height * options.ratio[1]), 1.0, width);
  return {std::floor((height - h) / 2), std::floor((width - w) / 2), h, w};
}

Extent extent_of(double start, double length, double scale, std::size_t size, bool bounded) {
  const double from = start * scale, stop = (start + length) * scale;
  Extent extent{from, stop - from, 0, size};
  if (bounded) {
    extent.first = std::min(static_cast<std::size_t>(from), size - 1);
    extent.stop = std::clamp(static_cast<std::size_t>(std::ceil(stop)), extent.first + 1, size);
  }
  return extent;
}

// The pixels that a part needs, with what antialiasing looks at around it.
Window window_of(const Extent& rows, const Extent& columns, const Output& output, const Shape& whole) {
  const auto side = [](const Extent& extent, std::size_t out, std::size_t size, std::size_t& first,
                       std::size_t& count) {
    const double margin = std::max(1.0, extent.length / static_cast<double>(out)) + 1;
    const double from = std::max(extent.start - margin, static_cast<double>(extent.first));
    const double stop = std::min(extent.start + extent.length + margin, static_cast<double>(extent.stop));
    first = std::min(static_cast<std::size_t>(std::max(from, 0.0)), size - 1);
    count = std::clamp(static_cast<std::size_t>(std::ceil(stop)), first + 1, size) - first;
  };
  Window window;
  side(rows, output.height, whole.height, window.top, window.height);
  side(columns, output.width, whole.width, window.left, window.width);
  return window;
}

void limit(Extent& extent, std::size_t first, std::size_t count) {
  extent.first = std::max(extent.first, first);
  extent.stop = std::min(extent.stop, first + count);
}

// Whether a JPEG file has an end: the last marker, or bytes after it.
bool has_end(Bytes file) {
  constexpr std::size_t kTail = 1024;
  const Bytes tail = file.last(std::min(kTail, file.size()));
  for (std::size_t i = tail.size(); i-- > 1;)
    if (tail[i] == std::byte{0xd9} && tail[i - 1] == std::byte{0xff}) return true;
  return false;
}

}  // namespace

std::optional<Part> Part::choose(const TransformOptions& options, std::size_t height, std::size_t width,
                                 const PictureKey& key) {
  Draws draws(options.seed, key);
  const bool flip = draws.uniform() < options.flip;
  const auto h = static_cast<double>(height), w = static_cast<double>(width);
  const auto out_h = static_cast<double>(options.output.height), out_w = static_cast<double>(options.output.width);
  Part part{0, 0, h, w};
  switch (options.part) {
    case TransformOptions::kWhole:
      break;
    case TransformOptions::kRandom:
      part = random_part(options, h, w, draws);
      break;
    case TransformOptions::kCenter:
      if (h < out_h || w < out_w) return std::nullopt;
      part = {std::nearbyint((h - out_h) / 2), std::nearbyint((w - out_w) / 2), out_h, out_w};
      break;
    case TransformOptions::kResizedCenter: {
      const auto side = static_cast<double>(options.shorter_side);
      const double new_h = h <= w ? side : std::floor(side * h / w), new_w = h <= w ? std::floor(side * w / h) : side;
      const double top = std::nearbyint((new_h - out_h) / 2), left = std::nearbyint((new_w - out_w) / 2);
      part = {top * h / new_h, left * w / new_w, out_h * h / new_h, out_w * w / new_w};
      part.bounded = false;
      break;
    }
  }
  part.flip = flip;
  return part;
}

Problem PictureTransform::run(Bytes file, const PictureKey& key, std::byte* to) {
  return format_of(file) == Format::kPng ? run_png(file, key, to) : run_jpeg(file, key, to);
}

Problem PictureTransform::run(const std::uint8_t* pixels, std::size_t height, std::size_t width, const PictureKey& key,
                              std::byte* to) {
  const std::optional<Part> part = Part::choose(options_, height, width, key);
  if (!part) return kTooSmall;
  const Extent rows = extent_of(part->top, part->height, 1, height, part->bounded);
  const Extent columns = extent_of(part->left, part->width, 1, width, part->bounded);
  resampler_.run({pixels, 0, 0, width}, rows, columns, options_.antialias, part->flip, options_.output, to);
  return nullptr;
}

// Copies what a decoder says is wrong, which is gone with it.
Problem PictureTransform::kept(Problem problem) {
  problem_ = problem;
  return problem_.c_str();
}

Problem PictureTransform::run_png(Bytes file, const PictureKey& key, std::byte* to) {
  PngDecoder decoder;
  const PngOptions png{static_cast<unsigned>(options_.output.channels), 8, options_.limits};
  if (const Problem problem = decoder.read_header(file, png)) return problem;
  if (const Problem problem = decoder.check_size()) return problem;
  decoded_.resize(decoder.shape().samples());
  if (const Problem problem = decoder.read(decoded_.data())) return problem;
  return run(reinterpret_cast<const std::uint8_t*>(decoded_.data()), decoder.shape().height, decoder.shape().width, key,
             to);
}

Problem PictureTransform::run_jpeg(Bytes file, const PictureKey& key, std::byte* to) {
  const Output& output = options_.output;
  JpegDecoder decoder;
  JpegOptions jpeg;
  jpeg.channels = static_cast<unsigned>(output.channels);
  jpeg.limits = options_.limits;
  if (const Problem problem = decoder.read_header(file, jpeg)) return kept(problem);
  Shape whole = decoder.shape();
  const std::optional<Part> part = Part::choose(options_, whole.height, whole.width, key);
  if (!part) return kTooSmall;
  unsigned eighths = 8;
  if (!options_.exact) {
    const auto is_enough = [&](unsigned half) {
      return part->height * half / 8 >= static_cast<double>(output.height) &&
             part->width * half / 8 >= static_cast<double>(output.width);
    };
    while (eighths > 1 && is_enough(eighths / 2)) eighths /= 2;
    if (eighths != 8) {
      if (const Problem problem = decoder.scale(eighths)) return kept(problem);
      whole = decoder.shape();
    }
  }
  const double scale = eighths / 8.0;
  Extent rows = extent_of(part->top, part->height, scale, whole.height, part->bounded);
  Extent columns = extent_of(part->left, part->width, scale, whole.width, part->bounded);
  Window window{0, 0, whole.height, whole.width};
  if (!options_.exact) {
    window = window_of(rows, columns, output, whole);
    limit(rows, window.top, window.height);
    limit(columns, window.left, window.width);
  }
  decoded_.resize(window.height * window.width * whole.channels);
  const bool stop_early = !options_.exact && has_end(file);
  if (const Problem problem = decoder.read(decoded_.data(), options_.exact ? Window{} : window, stop_early))
    return kept(problem);
  const Pixels pixels{reinterpret_cast<const std::uint8_t*>(decoded_.data()), window.top, window.left, window.width};
  resampler_.run(pixels, rows, columns, options_.antialias, part->flip, output, to);
  return nullptr;
}

}  // namespace penstock::image
