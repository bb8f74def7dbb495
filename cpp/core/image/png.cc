#include "core/image/png.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/crc32/crc32.h"
#include "core/inflate/inflater.h"

namespace penstock::image {
namespace {

constexpr unsigned char kSignature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t kFrameBytes = 12;  // of a chunk: length, name, checksum
constexpr std::size_t kMaxSide = 1'000'000;
// Two bits of deflate data yield at most 258 bytes.
constexpr std::size_t kMaxGrowth = 1032;

// libpng's weights of red, green and blue for 0.299, 0.587 and 0.114, in parts of 32768.
constexpr unsigned kRed = 9797, kGreen = 19234, kBlue = 3737;

constexpr Problem kTruncated = "it is truncated";
constexpr Problem kDamaged = "its data is damaged";
constexpr Problem kBadChecksum = "a checksum is wrong";

constexpr std::uint32_t name_of(const char (&name)[5]) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(name[i]);
  return value;
}

std::uint32_t load_be32(const std::byte* p) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(p[i]);
  return value;
}

unsigned load_be16(const std::uint8_t* p) { return static_cast<unsigned>(p[0] << 8 | p[1]); }

bool is_letter(unsigned c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

std::uint32_t adler32(Bytes data) {
  constexpr std::uint32_t kModulus = 65521;
  constexpr std::size_t kRun = 5552;  // the most bytes whose sums fit 32 bits
  std::uint32_t a = 1, b = 0;
  while (!data.empty()) {
    const std::size_t size = std::min(kRun, data.size());
    for (const std::byte value : data.first(size)) b += a += std::to_integer<std::uint32_t>(value);
    a %= kModulus;
    b %= kModulus;
    data = data.subspan(size);
  }
  return b << 16 | a;
}

std::uint8_t paeth(int left, int above, int corner) {
  const int to_left = std::abs(above - corner), to_above = std::abs(left - corner);
  const int to_corner = std::abs(left + above - 2 * corner);
  return static_cast<std::uint8_t>(to_left <= to_above && to_left <= to_corner ? left
                                   : to_above <= to_corner                     ? above
                                                                               : corner);
}

// Reverses the filter of a row in place. `above` is the row above; bytes left of the row are zero. A number of bytes
// per pixel that is known to the compiler keeps a pixel in registers.
template <std::size_t kStep>
void unfilter(unsigned filter, std::uint8_t* row, const std::uint8_t* above, std::size_t size) {
  const auto add = [](std::uint8_t& to, int value) { to = static_cast<std::uint8_t>(to + value); };
  const std::size_t first = std::min(kStep, size);
  switch (filter) {
    case 1:
      for (std::size_t i = kStep; i < size; ++i) add(row[i], row[i - kStep]);
      break;
    case 2:
      for (std::size_t i = 0; i < size; ++i) add(row[i], above[i]);
      break;
    case 3:
      for (std::size_t i = 0; i < first; ++i) add(row[i], above[i] / 2);
      for (std::size_t i = kStep; i < size; ++i) add(row[i], (row[i - kStep] + above[i]) / 2);
      break;
    case 4:
      for (std::size_t i = 0; i < first; ++i) add(row[i], above[i]);
      for (std::size_t i = kStep; i < size; ++i) add(row[i], paeth(row[i - kStep], above[i], above[i - kStep]));
      break;
    default:
      break;
  }
}

using Unfilter = void (*)(unsigned, std::uint8_t*, const std::uint8_t*, std::size_t);

Unfilter unfilter_for(std::size_t step) {
  switch (step) {
    case 1:
      return unfilter<1>;
    case 2:
      return unfilter<2>;
    case 3:
      return unfilter<3>;
    case 4:
      return unfilter<4>;
    case 6:
      return unfilter<6>;
    default:
      return unfilter<8>;
  }
}

}  // namespace

Format format_of(Bytes file) {
  const auto starts_with = [&](const void* bytes, std::size_t size) {
    return file.size() >= size && std::memcmp(file.data(), bytes, size) == 0;
  };
  if (starts_with("\xff\xd8\xff", 3)) return Format::kJpeg;
  return starts_with(kSignature, sizeof kSignature) ? Format::kPng : Format::kOther;
}

struct PngDecoder::Chunk {
  std::uint32_t name;
  Bytes data;
  bool valid;  // whether its checksum is right; only computed for chunks that are used

  bool is_critical() const { return (name >> 24 & 0x20) == 0; }
};

// The pixels (left + i * across, top + j * down) of the image.
struct PngDecoder::Pass {
  std::size_t left, top, across, down;

  static std::size_t count(std::size_t size, std::size_t from, std::size_t step) {
    return size <= from ? 0 : (size - from + step - 1) / step;
  }
  std::size_t columns(std::size_t width) const { return count(width, left, across); }
  std::size_t rows(std::size_t height) const { return count(height, top, down); }

  static std::span<const Pass> all(bool interlaced) {
    static constexpr Pass kWhole[] = {{0, 0, 1, 1}};
    static constexpr Pass kAdam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                      {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    return interlaced ? std::span<const Pass>(kAdam7) : std::span<const Pass>(kWhole);
  }
};

Problem PngDecoder::next(Chunk& chunk) {
  if (file_.size() - at_ < kFrameBytes) return kTruncated;
  const std::byte* const frame = file_.data() + at_;
  const std::size_t length = load_be32(frame);
  chunk.name = load_be32(frame + 4);
  for (int i = 0; i < 4; ++i)
    if (!is_letter(std::to_integer<unsigned>(frame[4 + i]))) return "a chunk has no valid name";
  if (length > file_.size() - at_ - kFrameBytes) return kTruncated;
  chunk.data = file_.subspan(at_ + 8, length);
  const bool used = chunk.is_critical() || chunk.name == name_of("tRNS");
  chunk.valid = !used || crc32(file_.subspan(at_ + 4, 4 + length)) == load_be32(frame + 8 + length);
  at_ += kFrameBytes + length;
  return chunk.is_critical() && !chunk.valid ? kBadChecksum : nullptr;
}

Problem PngDecoder::parse_header(const Chunk& chunk) {
  if (chunk.name != name_of("IHDR") || chunk.data.size() != 13) return "it does not begin with a header";
  const auto* const fields = reinterpret_cast<const std::uint8_t*>(chunk.data.data());
  width_ = load_be32(chunk.data.data());
  height_ = load_be32(chunk.data.data() + 4);
  depth_ = fields[8];
  color_ = fields[9];
  interlaced_ = fields[12] == 1;
  const auto depths = [&]() -> unsigned {  // as bits
    switch (color_) {
      case kGray:
        return 1 | 2 | 4 | 8 | 16;
      case kPalette:
        return 1 | 2 | 4 | 8;
      case kRgb:
      case kGrayAlpha:
      case kRgba:
        return 8 | 16;
      default:
        return 0;
    }
  };
  const bool power = depth_ != 0 && (depth_ & (depth_ - 1)) == 0;
  if (width_ == 0 || height_ == 0 || width_ > kMaxSide || height_ > kMaxSide || !power || (depths() & depth_) == 0 ||
      fields[10] != 0 || fields[11] != 0 || fields[12] > 1)
    return "its header is invalid";
  if (!options_.limits.allow(height_, width_, 1)) return kTooManyPixels;
  return nullptr;
}

void PngDecoder::read_transparency(Bytes data) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(data.data());
  if (transparent_ || has_alpha()) return;
  if (color_ == kPalette) {
    if (data.empty() || data.size() > palette_size_) return;
    for (std::size_t i = 0; i < data.size(); ++i) palette_[i][3] = bytes[i];
  } else {
    const std::size_t count = is_gray() ? 1 : 3;
    if (data.size() != 2 * count) return;
    const unsigned mask = (1u << depth_) - 1;
    for (std::size_t i = 0; i < count; ++i) clear_[i] = static_cast<std::uint16_t>(load_be16(bytes + 2 * i) & mask);
  }
  transparent_ = true;
}

Problem PngDecoder::read_header(Bytes file, const PngOptions& options) {
  options_ = options;
  file_ = file;
  palette_.fill({0, 0, 0, 255});
  palette_size_ = 0;
  transparent_ = false;
  if (format_of(file) != Format::kPng) return "it is not a PNG file";
  at_ = sizeof kSignature;
  Chunk chunk;
  if (const Problem problem = next(chunk)) return problem;
  if (const Problem problem = parse_header(chunk)) return problem;
  bool has_palette = false;
  for (;;) {
    const std::size_t begin = at_;
    if (const Problem problem = next(chunk)) return problem;
    if (chunk.name == name_of("IDAT")) {
      first_data_ = begin;
      break;
    } else if (chunk.name == name_of("PLTE")) {
      if (has_palette) return "it has two palettes";
      has_palette = true;
      const bool valid = chunk.data.size() % 3 == 0 && chunk.data.size() <= 768;
      if (color_ != kPalette) continue;
      if (!valid) return "its palette is invalid";
      palette_size_ = std::min(chunk.data.size() / 3, std::size_t{1} << depth_);
      for (std::size_t i = 0; i < palette_size_; ++i) std::memcpy(palette_[i].data(), chunk.data.data() + 3 * i, 3);
    } else if (chunk.name == name_of("tRNS")) {
      if (chunk.valid) read_transparency(chunk.data);
    } else if (chunk.is_critical()) {
      return "it has an unknown critical chunk, or one in the wrong place";
    }
  }
  if (color_ == kPalette && !has_palette) return "it has no palette";
  channels_ = options.channels;
  if (channels_ == 0) channels_ = color_ != kPalette ? stored_channels() : transparent_ ? 4 : 3;
  return nullptr;
}

Problem PngDecoder::check_size() {
  Chunk chunk;
  std::size_t data_bytes = 0, rows_bytes = 0;
  for (at_ = first_data_; next(chunk) == nullptr && chunk.name == name_of("IDAT");) data_bytes += chunk.data.size();
  for (const Pass& pass : Pass::all(interlaced_))
    if (const std::size_t columns = pass.columns(width_); columns != 0)
      rows_bytes += pass.rows(height_) * (1 + row_bytes(columns));
  if (rows_bytes / kMaxGrowth > data_bytes) return kTruncated;
  rows_.resize(rows_bytes + 1);
  return nullptr;
}

// Inflates the data of successive chunks, and reads the file to its end.
Problem PngDecoder::inflate_rows(Chunk chunk, std::span<std::byte> rows) {
  inflate::Inflater inflater;
  inflater.write_to({rows.data(), rows.data(), rows.data() + rows.size()});
  // The stream is zlib's (RFC 1950): two bytes, deflate data, and a checksum.
  unsigned start = 0, start_bytes = 0, sum_bytes = 0;
  std::uint32_t sum = 0;
  bool inflated = false;
  for (;;) {
    Bytes data = chunk.data;
    for (; start_bytes < 2 && !data.empty(); data = data.subspan(1), ++start_bytes)
      start = start << 8 | std::to_integer<unsigned>(data[0]);
    if (start_bytes == 2) {
      if ((start >> 8 & 15) != 8 || start >> 12 > 7 || (start & 32) != 0 || start % 31 != 0) return kDamaged;
      if (!inflated) {
        inflater.feed(data);
        const inflate::Stop stop = inflater.advance();
        // There is room for one byte more than there should be.
        if (stop == inflate::Stop::kDamaged || inflater.output().next == inflater.output().end) return kDamaged;
        inflated = stop == inflate::Stop::kDone;
        data = data.last(inflater.unread());
        if (inflated && inflater.output().next + 1 != inflater.output().end) return kTruncated;
      }
      for (; inflated && sum_bytes < 4 && !data.empty(); data = data.subspan(1), ++sum_bytes)
        sum = sum << 8 | std::to_integer<std::uint32_t>(data[0]);
      if (sum_bytes == 4) break;
    }
    if (const Problem problem = next(chunk)) return problem;
    if (chunk.name != name_of("IDAT")) return kTruncated;
  }
  if (sum != adler32(rows.first(rows.size() - 1))) return kBadChecksum;
  for (;;) {
    if (const Problem problem = next(chunk)) return problem;
    if (chunk.name == name_of("IEND")) return nullptr;
    if (chunk.is_critical() && chunk.name != name_of("IDAT") && chunk.name != name_of("PLTE"))
      return "it has an unknown critical chunk, or one in the wrong place";
  }
}

Problem PngDecoder::read(std::byte* output) {
  at_ = first_data_;
  Chunk chunk;
  if (const Problem problem = next(chunk)) return problem;
  if (const Problem problem = inflate_rows(chunk, rows_)) return problem;
  std::byte* rows = rows_.data();
  for (const Pass& pass : Pass::all(interlaced_))
    if (const Problem problem = read_pass(pass, rows, output)) return problem;
  return nullptr;
}

// Moves `rows` to the end of the pass.
Problem PngDecoder::read_pass(const Pass& pass, std::byte*& rows, std::byte* output) const {
  const std::size_t columns = pass.columns(width_);
  if (columns == 0) return nullptr;
  const std::size_t size = row_bytes(columns);
  const Unfilter reverse = unfilter_for(std::max<std::size_t>(1, stored_channels() * depth_ / 8));
  const std::vector<std::uint8_t> nothing(size);
  const std::uint8_t* above = nothing.data();
  const bool as_stored =
      !interlaced_ && depth_ == 8 && options_.bits == 8 && color_ != kPalette && channels_ == stored_channels();
  for (std::size_t j = 0; j < pass.rows(height_); ++j) {
    auto* const row = reinterpret_cast<std::uint8_t*>(rows) + 1;
    if (row[-1] > 4) return "a row has an unknown filter";
    reverse(row[-1], row, above, size);
    if (as_stored)
      std::memcpy(output + j * size, row, size);
    else
      convert_row(row, pass, pass.top + j * pass.down, output);
    above = row;
    rows += 1 + size;
  }
  return nullptr;
}

// Stores a pixel whose samples have at least 8 bits, and as many as the output unless they have 16.
template <typename Sample>
void PngDecoder::store(Sample* pixel, unsigned r, unsigned g, unsigned b, unsigned alpha, bool opaque) const {
  const bool deep = depth_ == 16;
  // Without an alpha of its own, a pixel has one of as many bits as the file's samples, however few these are.
  if (opaque) alpha = (1u << depth_) - 1;
  const auto sample = [&](unsigned value) {
    if (sizeof(Sample) == 1) return static_cast<Sample>(deep ? value >> 8 : value);
    return static_cast<Sample>(deep ? value : value * 257);
  };
  if (channels_ >= 3) {
    pixel[0] = sample(r);
    pixel[1] = sample(g);
    pixel[2] = sample(b);
  } else {
    const unsigned weighted = kRed * r + kGreen * g + kBlue * b;
    pixel[0] = sample(is_gray() ? r : (weighted + (deep ? 16384 : 0)) >> 15);
  }
  if (channels_ % 2 == 0) pixel[channels_ - 1] = sample(alpha);
}

void PngDecoder::convert_row(const std::uint8_t* row, const Pass& pass, std::size_t y, std::byte* output) const {
  const std::size_t sample_bytes = options_.bits / 8, pixel_bytes = channels_ * sample_bytes;
  const unsigned stored = stored_channels();
  const std::size_t columns = pass.columns(width_);
  for (std::size_t i = 0; i < columns; ++i) {
    unsigned v[4] = {};
    if (depth_ < 8) {
      const std::size_t bit = i * depth_;
      v[0] = row[bit / 8] >> (8 - depth_ - bit % 8) & ((1u << depth_) - 1);
    } else {
      for (unsigned c = 0; c < stored; ++c)
        v[c] = depth_ == 8 ? row[i * stored + c] : load_be16(row + 2 * (i * stored + c));
    }
    unsigned r = v[0], g = v[1], b = v[2], alpha = 0;
    bool opaque = false;
    if (color_ == kPalette) {
      const std::array<std::uint8_t, 4>& entry = palette_[v[0]];
      r = entry[0], g = entry[1], b = entry[2], alpha = entry[3];
      opaque = !transparent_;
    } else if (has_alpha()) {
      alpha = v[stored - 1];
    } else if (transparent_) {
      const bool clear = r == clear_[0] && (is_gray() || (g == clear_[1] && b == clear_[2]));
      alpha = clear ? 0 : depth_ == 16 ? 65535 : 255;
    } else {
      opaque = true;
    }
    if (is_gray()) {
      if (depth_ < 8) r = r * 255 / ((1u << depth_) - 1);
      g = b = r;
    }
    std::byte* const pixel = output + (y * width_ + pass.left + i * pass.across) * pixel_bytes;
    if (sample_bytes == 1)
      store(reinterpret_cast<std::uint8_t*>(pixel), r, g, b, alpha, opaque);
    else
      store(reinterpret_cast<std::uint16_t*>(pixel), r, g, b, alpha, opaque);
  }
}

}  // namespace penstock::image
