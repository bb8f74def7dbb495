// Images: the first byte selects the options.
//
// Whatever the bytes, nothing is written outside of the pixels that the header announces, two decoders agree, and part
// of a JPEG image fits the whole.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "core/image/jpeg.h"
#include "core/image/png.h"
#include "core/image/transform.h"
#include "tests/checks.h"

namespace penstock::tests {
namespace {

using namespace penstock::image;

constexpr Limits kLimits{1 << 16};

// Bytes of the pixels, exactly; null if its header is rejected.
template <typename Decoder, typename Options>
std::unique_ptr<std::byte[]> decode(Bytes file, const Options& options, std::size_t sample_bytes, Shape& shape,
                                    bool& valid) {
  Decoder decoder;
  if (decoder.read_header(file, options) != nullptr || decoder.check_size() != nullptr) return nullptr;
  shape = decoder.shape();
  require(shape.height * shape.width <= kLimits.max_pixels, "an image is larger than allowed");
  std::unique_ptr<std::byte[]> pixels(new std::byte[shape.samples() * sample_bytes]);
  valid = decoder.read(pixels.get()) == nullptr;
  return pixels;
}

template <typename Decoder, typename Options>
void check(Bytes file, const Options& options, std::size_t sample_bytes) {
  Shape one, other;
  bool one_valid = false, other_valid = false;
  const auto first = decode<Decoder>(file, options, sample_bytes, one, one_valid);
  const auto second = decode<Decoder>(file, options, sample_bytes, other, other_valid);
  require(one == other && one_valid == other_valid, "two decoders disagree");
  require(!one_valid || std::memcmp(first.get(), second.get(), one.samples() * sample_bytes) == 0, "pixels differ");
}

void check_window(Bytes file, const JpegOptions& options) {
  JpegDecoder decoder;
  if (decoder.read_header(file, options) != nullptr) return;
  const Shape whole = decoder.shape();
  const Window part{whole.height / 3, whole.width / 3, (whole.height + 1) / 2, (whole.width + 1) / 2};
  const std::unique_ptr<std::byte[]> pixels(new std::byte[part.height * part.width * whole.channels]);
  decoder.read(pixels.get(), part);
}

void check_transform(Bytes file, unsigned chosen) {
  TransformOptions options;
  options.part = static_cast<TransformOptions::Part>(chosen % 4);
  options.shorter_side = 24;
  options.flip = 0.5;
  options.antialias = (chosen & 4) != 0;
  options.exact = (chosen & 8) != 0;
  options.output.height = 1 + chosen % 24;
  options.output.width = 1 + chosen % 19;
  options.output.channels = chosen & 16 ? 1 : 3;
  options.output.type = static_cast<SampleType>(chosen % 3);
  options.output.channels_first = (chosen & 32) != 0;
  options.limits = kLimits;
  const std::unique_ptr<std::byte[]> output(new std::byte[options.output.bytes()]);
  PictureTransform transform(options);
  for (std::uint64_t row = 0; row < 2; ++row) transform.run(file, {0, row, chosen}, output.get());
}

}  // namespace
}  // namespace penstock::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock::tests;
  if (size < 1) return 0;
  const Bytes file = std::as_bytes(std::span(data + 1, size - 1));
  const unsigned chosen = data[0], channels = chosen % 5;
  check_transform(file, chosen);
  if (format_of(file) == Format::kPng) {
    const unsigned bits = chosen & 128 ? 16 : 8;
    check<PngDecoder>(file, PngOptions{channels, bits, kLimits}, bits / 8);
  } else if (JpegDecoder::is_available()) {
    const JpegOptions options{channels,
                              1 + (chosen >> 3) % 8,
                              (chosen & 64) != 0,
                              (chosen & 128) == 0,
                              chosen % 11 == 10,
                              chosen % 7 == 6 ? 0.5f : 1.0f,
                              kLimits};
    check<JpegDecoder>(file, options, 1);
    check_window(file, options);
  }
  return 0;
}
