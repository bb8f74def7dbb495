#include "core/frame.h"

#include <cstring>

#include "core/bytes.h"
#include "core/crc32c/crc32c.h"

namespace penstock {

bool header_is_sound(const std::byte* p) { return mask_crc(crc32c(p, 8)) == load_le32(p + 8); }

WalkResult walk_frames(std::span<const std::byte> bytes, std::uint64_t max_record_bytes, std::uint64_t base,
                       std::vector<Span>& spans) {
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
    if (!header_is_sound(frame)) {
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
    spans.push_back({base + result.consumed + kHeaderBytes, length});
    result.consumed += static_cast<std::size_t>(size);
  }
}

bool payload_is_sound(const std::byte* buffer, Span span) {
  const std::byte* payload = buffer + span.offset;
  const auto length = static_cast<std::size_t>(span.length);
  return mask_crc(crc32c(payload, length)) == load_le32(payload + length);
}

std::size_t find_unsound(const std::byte* buffer, std::span<const Span> spans, std::size_t from) {
  while (from < spans.size() && payload_is_sound(buffer, spans[from])) ++from;
  return from;
}

std::size_t find_header(std::span<const std::byte> bytes, std::size_t from) {
  for (; from <= bytes.size() && bytes.size() - from >= kHeaderBytes; ++from)
    if (header_is_sound(bytes.data() + from)) return from;
  return bytes.size();
}

void write_header(std::byte* out, std::uint64_t length) {
  store_le64(out, length);
  store_le32(out + 8, mask_crc(crc32c(out, 8)));
}

void write_footer(std::byte* frame, std::size_t length) {
  const std::byte* payload = frame + kHeaderBytes;
  store_le32(frame + kHeaderBytes + length, mask_crc(crc32c(payload, length)));
}

}  // namespace penstock
