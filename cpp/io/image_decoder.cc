#include "io/image_decoder.h"

namespace penstock {
namespace {

using image::Bytes;
using image::Problem;
using image::Shape;

// Returns memory for an image: its place in the column if it has the column's shape.
std::byte* memory_for(DecodedImage& image, const Shape& shape, std::size_t sample_bytes, std::byte* place) {
  if (place != nullptr && image.shape == shape) return place;
  image.pixels = acquire_buffer(image.shape.samples() * sample_bytes);
  return image.pixels->data();
}

bool fits(const image::Window& window, const Shape& whole) {
  return window.height != 0 && window.width != 0 && window.top <= whole.height && window.left <= whole.width &&
         window.height <= whole.height - window.top && window.width <= whole.width - window.left;
}

}  // namespace

void ImageDecoder::decode(Bytes file, const image::Window* window, const Shape& shape, std::byte* place,
                          DecodedImage& result) const {
  // What a decoder says is wrong is gone with it.
  const auto decode_with = [&](auto decoder, const auto& options, auto read) {
    Problem problem = decoder.read_header(file, options);
    if (problem == nullptr) {
      result.shape = decoder.shape();
      if (!sides_.allow(result.shape)) {
        result.status = DecodedImage::kWrongSides;
        return;
      }
      problem = decoder.check_size();
    }
    if (problem == nullptr) problem = read(decoder);
    if (problem == nullptr) return;
    result.status = DecodedImage::kInvalid;
    result.problem = problem;
    result.pixels = nullptr;
  };
  const image::Format format = image::format_of(file);
  if (format == image::Format::kJpeg && image::JpegDecoder::is_available() && sample_bytes() == 1) {
    decode_with(image::JpegDecoder(), options_.jpeg, [&](image::JpegDecoder& decoder) -> Problem {
      const Shape whole = result.shape;
      if (window == nullptr) return decoder.read(memory_for(result, shape, 1, place));
      if (!fits(*window, whole)) return "the crop window is not inside the image";
      result.shape = {window->height, window->width, whole.channels};
      return decoder.read(memory_for(result, shape, 1, place), *window);
    });
  } else if (format == image::Format::kPng) {
    decode_with(image::PngDecoder(), options_.png, [&](image::PngDecoder& decoder) -> Problem {
      if (window != nullptr) return "only JPEG images can be decoded in part";
      return decoder.read(memory_for(result, shape, sample_bytes(), place));
    });
  } else {
    result.status = DecodedImage::kOtherFormat;
  }
}

std::optional<Shape> ImageDecoder::shape_of(Bytes file) const {
  const auto shape = [&](auto decoder, const auto& options) -> std::optional<Shape> {
    if (decoder.read_header(file, options) != nullptr) return std::nullopt;
    return decoder.shape();
  };
  switch (image::format_of(file)) {
    case image::Format::kJpeg:
      return shape(image::JpegDecoder(), options_.jpeg);
    case image::Format::kPng:
      return shape(image::PngDecoder(), options_.png);
    case image::Format::kOther:
      break;
  }
  return std::nullopt;
}

void ImageDecoder::run(std::span<const Bytes> files, std::span<const image::Window> windows, const Shape& shape,
                       std::byte* column, std::span<DecodedImage> images) {
  const std::size_t stride = shape.samples() * sample_bytes();
  workers_.run(files.size(), [&](std::size_t i) {
    if (files[i].data() == nullptr) return;
    decode(files[i], windows.empty() ? nullptr : &windows[i], shape, column == nullptr ? nullptr : column + i * stride,
           images[i]);
  });
}

}  // namespace penstock
