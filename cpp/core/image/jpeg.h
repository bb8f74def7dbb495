// Decodes JPEG with libjpeg-turbo, straight into the caller's memory; pixels and errors are those of TensorFlow.
//
// The library reports errors by a jump out of its functions. Each decoder has its own state for it, so any number of
// them run on any threads, and no C++ object lives in a frame that is jumped over. Built without libjpeg-turbo, every
// image is unsupported.
#pragma once

#include <cstdint>
#include <memory>

#include "core/image/pixels.h"

namespace penstock::image {

// Part of an image; without a size, all of it.
struct Window {
  std::size_t top = 0, left = 0, height = 0, width = 0;
};

struct JpegOptions {
  unsigned channels = 0;  // 1 gray, 2 gray and opaque alpha, 3 RGB, 4 RGB and opaque alpha; 0: gray or RGB, as stored
  unsigned eighths = 8;   // scales both sides by eighths/8, rounded up
  bool accurate_dct = false;
  bool fancy_upscaling = true;
  bool recover_truncated = false;  // repeats the last row of a file that ends early
  float acceptable_fraction = 1;   // of the rows that a file must have; the others are black
  Limits limits;
};

class JpegDecoder {
 public:
  static bool is_available();

  JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;
  ~JpegDecoder();

  // Reads the header of a file, which must stay valid. After a problem, only read_header() may be called. A problem is
  // valid as long as the decoder.
  Problem read_header(Bytes file, const JpegOptions& options);

  // Of the whole output: scaled, and not cropped.
  Shape shape() const;

  // Before any conversion.
  std::size_t stored_channels() const;

  // Of a JPEG file, any number of rows may be equal and take next to no data.
  Problem check_size() { return nullptr; }

  // Changes the scale, before decoding.
  Problem scale(unsigned eighths);

  // Decodes, once. The window is one of the scaled image. Rows of the output have no gaps. With `stop_early`, what
  // follows the window is not looked at.
  Problem read(std::byte* output, const Window& window = {}, bool stop_early = false);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::image
