// Decodes PNG (ISO/IEC 15948) with our own inflater, straight into the caller's memory.
//
// Pixels are those that TensorFlow gets from libpng, and so is what is an error and what is ignored: a chunk that the
// image needs must have its checksum, any other one is skipped if it does not.
#pragma once

#include <array>
#include <vector>

#include "core/image/pixels.h"

namespace penstock::image {

struct PngOptions {
  unsigned channels = 0;  // 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha; 0: as stored, with a palette applied
  unsigned bits = 8;      // 8 or 16; samples of the output have the byte order of this machine
  Limits limits;
};

class PngDecoder {
 public:
  // Reads what comes before the pixels of a file, which must stay valid. After a problem, only read_header() may be
  // called.
  Problem read_header(Bytes file, const PngOptions& options);

  Shape shape() const { return {height_, width_, channels_}; }

  // Whether there is as much data as the header promises at least. To call before memory is taken for the output.
  Problem check_size();

  // Decodes, once. Rows of the output have no gaps.
  Problem read(std::byte* output);

 private:
  struct Chunk;
  struct Pass;
  enum Color : unsigned { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6 };

  Problem next(Chunk& chunk);
  Problem parse_header(const Chunk& chunk);
  void read_transparency(Bytes data);
  Problem inflate_rows(Chunk chunk, std::span<std::byte> rows);
  Problem read_pass(const Pass& pass, std::byte*& rows, std::byte* output) const;
  void convert_row(const std::uint8_t* row, const Pass& pass, std::size_t y, std::byte* output) const;
  template <typename Sample>
  void store(Sample* pixel, unsigned r, unsigned g, unsigned b, unsigned alpha, bool opaque) const;

  bool is_gray() const { return (color_ & 2) == 0; }
  bool has_alpha() const { return (color_ & 4) != 0; }
  unsigned stored_channels() const { return color_ == kPalette ? 1 : (color_ & 2) + 1 + (color_ >> 2); }
  std::size_t row_bytes(std::size_t width) const { return (width * stored_channels() * depth_ + 7) / 8; }

  PngOptions options_;
  Bytes file_;
  std::size_t at_ = 0;  // of the next chunk
  std::size_t first_data_ = 0;
  std::size_t height_ = 0, width_ = 0;
  unsigned depth_ = 0, color_ = 0, channels_ = 0;
  bool interlaced_ = false;

  std::array<std::array<std::uint8_t, 4>, 256> palette_;
  std::size_t palette_size_ = 0;
  bool transparent_ = false;              // there is a tRNS chunk
  std::array<std::uint16_t, 3> clear_{};  // the color that is transparent, as stored

  std::vector<std::byte> rows_;
};

}  // namespace penstock::image
