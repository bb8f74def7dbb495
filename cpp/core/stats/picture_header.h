// What an encoded picture is, by its first bytes: nothing is decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace penstock {

enum class PictureFormat : std::uint8_t { kJpeg, kPng, kGif, kBmp, kWebp };

struct PictureHeader {
  PictureFormat format;
  std::uint32_t height = 0, width = 0;  // 0 if unknown
};

// Returns nothing if the bytes do not start like a picture.
std::optional<PictureHeader> read_picture_header(std::span<const std::byte> bytes);

}  // namespace penstock
