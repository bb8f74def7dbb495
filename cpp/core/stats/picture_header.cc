#include "core/stats/picture_header.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace penstock {
namespace {

using Bytes = std::span<const std::byte>;

// Metadata before the size may be large; more of it is not looked at.
constexpr std::size_t kMostSearched = std::size_t{256} << 10;

std::uint32_t big(Bytes bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
  return value;
}

std::uint32_t little(Bytes bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | std::to_integer<std::uint32_t>(bytes[at + i]);
  return value;
}

bool has(Bytes bytes, std::size_t at, std::string_view text) {
  return bytes.size() >= at + text.size() && std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

// The size is in the frame header, whose marker is C0 to CF without the three that mean other things.
PictureHeader jpeg_header(Bytes bytes) {
  PictureHeader header{PictureFormat::kJpeg};
  bytes = bytes.first(std::min(bytes.size(), kMostSearched));
  for (std::size_t at = 2; at + 9 <= bytes.size();) {
    const std::uint32_t marker = big(bytes, at + 1, 1);
    if (bytes[at] != std::byte{0xFF}) return header;
    if (marker == 0xFF) {  // fill
      ++at;
      continue;
    }
    if (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC)
      return {PictureFormat::kJpeg, big(bytes, at + 5, 2), big(bytes, at + 7, 2)};
    if (marker == 0xD9 || marker == 0xDA) return header;
    at += 2 + big(bytes, at + 2, 2);
  }
  return header;
}

}  // namespace

std::optional<PictureHeader> read_picture_header(std::span<const std::byte> bytes) {
  using namespace std::literals;
  if (has(bytes, 0, "\xFF\xD8\xFF"sv)) return jpeg_header(bytes);
  if (has(bytes, 0, "\x89PNG\r\n\x1A\n"sv)) {
    if (bytes.size() < 24) return PictureHeader{PictureFormat::kPng};
    return PictureHeader{PictureFormat::kPng, big(bytes, 20, 4), big(bytes, 16, 4)};
  }
  if (has(bytes, 0, "GIF87a"sv) || has(bytes, 0, "GIF89a"sv)) {
    if (bytes.size() < 10) return PictureHeader{PictureFormat::kGif};
    return PictureHeader{PictureFormat::kGif, little(bytes, 8, 2), little(bytes, 6, 2)};
  }
  if (has(bytes, 0, "RIFF"sv) && has(bytes, 8, "WEBP"sv)) return PictureHeader{PictureFormat::kWebp};
  // Two letters alone are too common: the header states the size of the file, too.
  if (has(bytes, 0, "BM"sv) && bytes.size() >= 26 && little(bytes, 2, 4) == bytes.size()) {
    const auto height = static_cast<std::int32_t>(little(bytes, 22, 4));
    return PictureHeader{PictureFormat::kBmp, static_cast<std::uint32_t>(height < 0 ? -std::int64_t{height} : height),
                         little(bytes, 18, 4)};
  }
  return std::nullopt;
}

}  // namespace penstock
