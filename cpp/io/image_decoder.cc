#include "io/image_decoder.h"

namespace penstock {
namespace {

using image::Bytes;
using image::Problem;
using image::Shape;

// A problem of an image that opens and has the right sides, or of one that does not.
template <typename Decoder, typename Options>
Problem decode_with(Decoder& decoder, Bytes file, const Options& options, const ImageSides& sides, const Shape& wanted,
                    std::size_t sample_bytes, std::byte* place, DecodedImage& result) {
  if (const Problem problem = decoder.read_header(file, options)) return problem;
  result.shape = decoder.shape();
  if (!sides.allow(result.shape)) {
    result.status = DecodedImage::kWrongSides;
    return nullptr;
  }
  if (const Problem problem = decoder.check_size()) return problem;
  if (place == nullptr || !(result.shape == wanted)) {
    result.pixels = acquire_buffer(result.shape.samples() * sample_bytes);
    place = result.pixels->data();
  }
  return decoder.read(place);
}

}  // namespace

void ImageDecoder::decode(Bytes file, const Shape& shape, std::byte* place, DecodedImage& result) const {
  const image::Format format = image::format_of(file);
  Problem problem = nullptr;
  if (format == image::Format::kJpeg && image::JpegDecoder::is_available() && sample_bytes() == 1) {
    image::JpegDecoder decoder;
    problem = decode_with(decoder, file, options_.jpeg, sides_, shape, 1, place, result);
  } else if (format == image::Format::kPng) {
    image::PngDecoder decoder;
    problem = decode_with(decoder, file, options_.png, sides_, shape, sample_bytes(), place, result);
  } else {
    result.status = DecodedImage::kOtherFormat;
  }
  if (problem != nullptr) {
    result.status = DecodedImage::kInvalid;
    result.problem = problem;
    result.pixels = nullptr;
  }
}

void ImageDecoder::run(std::span<const Bytes> files, const Shape& shape, std::byte* column,
                       std::span<DecodedImage> images) {
  const std::size_t stride = shape.samples() * sample_bytes();
  workers_.run(files.size(), [&](std::size_t i) {
    if (files[i].data() != nullptr)
      decode(files[i], shape, column == nullptr ? nullptr : column + i * stride, images[i]);
  });
}

}  // namespace penstock
