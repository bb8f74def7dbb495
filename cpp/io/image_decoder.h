// Decodes many images on threads, each straight into the memory of a column or into memory of its own.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "core/image/jpeg.h"
#include "core/image/png.h"
#include "io/workers.h"

namespace penstock {

struct ImageOptions {
  image::JpegOptions jpeg;
  image::PngOptions png;
};

// The shape that images must have; -1 for a side that may have any size.
struct ImageSides {
  std::int64_t height = -1, width = -1;

  bool allow(const image::Shape& found) const {
    return (height < 0 || found.height == static_cast<std::size_t>(height)) &&
           (width < 0 || found.width == static_cast<std::size_t>(width));
  }
};

struct DecodedImage {
  enum Status { kDone, kOtherFormat, kWrongSides, kInvalid };
  Status status = kDone;
  image::Shape shape;
  std::string problem;
  SharedBuffer pixels;  // null where they are in the column
};

class ImageDecoder {
 public:
  ImageDecoder(const ImageOptions& options, ImageSides sides, std::size_t threads)
      : options_(options), sides_(sides), workers_(threads) {}

  // Decodes files, some of which may be missing, or a window of each, which must then be JPEG. If there is a column, it
  // has room for an image of `shape` for each file; an image of another shape gets memory of its own. Thread-safe.
  void run(std::span<const image::Bytes> files, std::span<const image::Window> windows, const image::Shape& shape,
           std::byte* column, std::span<DecodedImage> images);

  // The shape of a whole image by its header; nothing if that is invalid or of another format.
  std::optional<image::Shape> shape_of(image::Bytes file) const;

  // Bytes of a sample of the output.
  std::size_t sample_bytes() const { return options_.png.bits / 8; }

 private:
  void decode(image::Bytes file, const image::Window* window, const image::Shape& shape, std::byte* place,
              DecodedImage& result) const;

  ImageOptions options_;
  ImageSides sides_;
  Workers workers_;
};

}  // namespace penstock
