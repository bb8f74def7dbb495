#include "core/frame.h"

#include <array>
#include <bit>
#include <cstring>

#include "core/crc32c/combine.h"
#include "core/crc32c/crc32c.h"
#include "core/little_endian.h"

namespace penstock {
namespace {

// The checksum of a length below 64 KiB, as most are: entry [0] of its low byte XOR entry [1] of the next. Faster than
// a call to a kernel.
constexpr auto kShortLengths = [] {
  std::array<std::array<std::uint32_t, 256>, 2> checksums{};
  for (std::size_t place = 0; place < 2; ++place) {
    for (std::uint32_t value = 0; value < 256; ++value) {
      std::uint32_t crc = place == 0 ? 0xFFFFFFFFu : 0;
      for (std::size_t byte = 0; byte < 8; ++byte) {
        if (byte == place) crc ^= value;
        for (int bit = 0; bit < 8; ++bit) crc = detail::times_x(crc);
      }
      checksums[place][value] = place == 0 ? ~crc : crc;
    }
  }
  return checksums;
}();

}  // namespace

bool header_is_valid(const std::byte* p) {
  const std::uint64_t length = load_le64(p);
  const std::uint32_t crc =
      length < 0x10000 ? kShortLengths[0][length & 0xFF] ^ kShortLengths[1][length >> 8] : crc32c(p, 8);
  return mask_crc(crc) == load_le32(p + 8);
}

bool payload_is_valid(const std::byte* buffer, Span span) {
  const std::byte* payload = buffer + span.offset;
  const auto length = static_cast<std::size_t>(span.length);
  return mask_crc(crc32c(payload, length)) == load_le32(payload + length);
}

std::uint64_t corrected_length(const std::byte* p) {
  const std::uint64_t length = load_le64(p);
  const std::uint32_t checksum = load_le32(p + 8);
  for (std::uint64_t bit = 1; bit != 0; bit <<= 1) {
    std::byte header[kHeaderBytes];
    write_header(header, length ^ bit);
    if (load_le32(header + 8) == checksum) return length ^ bit;
  }
  return length;
}

int header_bit_errors(const std::byte* p, std::uint64_t length) {
  std::byte header[kHeaderBytes];
  write_header(header, length);
  return std::popcount(load_le64(p) ^ load_le64(header)) + std::popcount(load_le32(p + 8) ^ load_le32(header + 8));
}

WalkResult walk_frames(std::span<const std::byte> bytes, std::uint64_t max_record_bytes, std::uint64_t base,
                       bool verify, std::vector<Span>& spans) {
  const std::uint64_t limit = max_record_bytes < kLargestRecord ? max_record_bytes : kLargestRecord;
  WalkResult result;
  for (;;) {
    const std::byte* frame = bytes.data() + result.consumed;
    const std::size_t left = bytes.size() - result.consumed;
    if (left == 0) return result;
    if (left < kHeaderBytes) {
      result.state = WalkState::kNeedMore;
      result.need = kHeaderBytes;
      return result;
    }
    if (!header_is_valid(frame)) {
      result.state = WalkState::kFault;
      result.fault = FaultKind::kLengthChecksum;
      return result;
    }
    const std::uint64_t length = load_le64(frame);
    if (length > limit) {
      result.state = WalkState::kFault;
      result.fault = FaultKind::kTooLarge;
      result.need = length;
      return result;
    }
    const std::uint64_t size = length + kFrameOverhead;
    if (size > left) {
      result.state = WalkState::kNeedMore;
      result.need = size;
      return result;
    }
    if (verify && !payload_is_valid(frame, {kHeaderBytes, length})) {
      result.state = WalkState::kFault;
      result.fault = FaultKind::kDataChecksum;
      result.need = size;
      return result;
    }
    spans.push_back({base + result.consumed + kHeaderBytes, length});
    result.consumed += static_cast<std::size_t>(size);
  }
}

std::size_t find_invalid(const std::byte* buffer, std::span<const Span> spans, std::size_t from) {
  while (from < spans.size() && payload_is_valid(buffer, spans[from])) ++from;
  return from;
}

std::size_t find_header(std::span<const std::byte> bytes, std::size_t from) {
  for (; from <= bytes.size() && bytes.size() - from >= kHeaderBytes; ++from)
    if (header_is_valid(bytes.data() + from)) return from;
  return bytes.size();
}

std::size_t find_likely_header(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at + kHeaderBytes <= bytes.size();) {
    const std::byte* p = bytes.data() + at;
    const std::uint64_t length = load_le64(p);
    if (length >> 56 != 0)
      at += 4;  // the upper half of a length is zero, and comes after this byte
    else if (length != 0 && length >> 32 == 0 && header_is_valid(p))
      return at;
    else
      ++at;
  }
  return bytes.size();
}

void write_header(std::byte* out, std::uint64_t length) {
  store_le64(out, length);
  store_le32(out + 8, mask_crc(crc32c(out, 8)));
}

void copy_payload(std::byte* frame, std::span<const std::byte> payload) {
  // In pieces, so that the checksum reads what was just copied from the nearest cache.
  constexpr std::size_t kPiece = std::size_t{16} << 10;
  std::byte* out = frame + kHeaderBytes;
  std::uint32_t crc = 0;
  while (!payload.empty()) {
    const std::size_t size = payload.size() < kPiece ? payload.size() : kPiece;
    std::memcpy(out, payload.data(), size);
    crc = crc32c_extend(crc, out, size);
    out += size;
    payload = payload.subspan(size);
  }
  store_le32(out, mask_crc(crc));
}

void write_footer(std::byte* frame, std::size_t length) {
  const std::byte* payload = frame + kHeaderBytes;
  store_le32(frame + kHeaderBytes + length, mask_crc(crc32c(payload, length)));
}

std::uint32_t crc32c_of_frames(std::uint32_t crc, std::span<const std::byte> frames) {
  // Computing a power costs as much as reading a payload of this size. Many files have payloads of one size, for which
  // the power is computed once.
  constexpr std::size_t kLong = std::size_t{2} << 10;
  std::size_t length_of_power = 0;
  std::uint32_t power = 0;
  const std::byte* unread = frames.data();
  const std::byte* end = frames.data() + frames.size();
  for (const std::byte* frame = unread; frame != end;) {
    const auto length = static_cast<std::size_t>(load_le64(frame));
    const std::byte* payload = frame + kHeaderBytes;
    frame += kFrameOverhead + length;
    if (length < kLong) continue;
    if (length != length_of_power) {
      power = crc32c_power(length);
      length_of_power = length;
    }
    const std::byte* footer = payload + length;
    crc = crc32c_extend(crc, unread, static_cast<std::size_t>(payload - unread));
    crc = crc32c_combine(crc, unmask_crc(load_le32(footer)), power);
    unread = footer;
  }
  return crc32c_extend(crc, unread, static_cast<std::size_t>(end - unread));
}

}  // namespace penstock
