#include "io/frame_probe.h"

#include <algorithm>

#include "core/crc32c/crc32c.h"
#include "core/little_endian.h"

namespace penstock {

FrameProbe::Frame FrameProbe::probe(std::uint64_t at) {
  const std::uint64_t stop = region_.stop(), left = stop - at;
  if (left < kHeaderBytes) return {FaultKind::kTruncatedHeader, false, false, stop, kHeaderBytes};
  const std::byte* header = region_.look(at, kHeaderBytes);
  if (!header_is_valid(header)) return guess(at, header);
  const std::uint64_t length = load_le64(header), payload = at + kHeaderBytes;
  const bool fits = left >= kFrameOverhead && length <= left - kFrameOverhead;
  const std::uint64_t frame_stop = fits ? at + length + kFrameOverhead : stop;
  if (length > limit_) return {FaultKind::kTooLarge, true, fits, frame_stop, length};
  if (!fits) return {FaultKind::kTruncatedRecord, true, false, stop, length + kFrameOverhead};
  bool is_whole = has_checksum(payload, frame_stop - kFooterBytes);
  if (is_whole && length == kAmbiguousBytes && length_at(payload) != kAmbiguousBytes)
    is_whole = !probe(payload).is_whole();
  return {is_whole ? FaultKind::kNone : FaultKind::kDataChecksum, true, true, frame_stop, length + kFrameOverhead};
}

// A header with a wrong checksum may still contain the length, unchanged or with one bit flipped.
FrameProbe::Frame FrameProbe::guess(std::uint64_t at, const std::byte* header) {
  const std::uint64_t left = region_.stop() - at, length = corrected_length(header);
  if (is_zero(at) || length > limit_ || left < kFrameOverhead || length > left - kFrameOverhead)
    return {FaultKind::kLengthChecksum, false, false, region_.stop(), 0};
  return {FaultKind::kLengthChecksum, false, true, at + length + kFrameOverhead, 0};
}

std::uint64_t FrameProbe::count_overlapping(std::uint64_t at) {
  std::uint64_t count = 1;
  if (length_at(at) != kAmbiguousBytes) return count;
  while (length_at(at += kHeaderBytes) == kAmbiguousBytes && probe(at).is_whole()) ++count;
  return count;
}

bool FrameProbe::starts_record(std::uint64_t at) {
  if (at == region_.stop()) return ends_with_file_;
  if (region_.stop() - at < kHeaderBytes) return false;
  const std::byte* header = region_.peek(at, kHeaderBytes);
  if (header_is_valid(header)) return true;
  const Frame frame = guess(at, header);
  return frame.fits && is_payload(at + kHeaderBytes, frame.stop - kFooterBytes);
}

bool FrameProbe::is_payload(std::uint64_t begin, std::uint64_t end) {
  return has_checksum(begin, end) && !(end - begin == kAmbiguousBytes && probe(begin).is_whole());
}

bool FrameProbe::has_checksum(std::uint64_t begin, std::uint64_t end) {
  return mask_crc(region_.checksum(begin, end)) == load_le32(region_.peek(end, kFooterBytes));
}

std::uint64_t FrameProbe::length_at(std::uint64_t at) { return load_le64(region_.peek(at, kHeaderBytes)); }

// True if there are zeros where a header should be: a block that was never written.
bool FrameProbe::is_zero(std::uint64_t at) {
  if (region_.stop() - at < kHeaderBytes) return false;
  const std::byte* header = region_.peek(at, kHeaderBytes);
  return std::all_of(header, header + kHeaderBytes, [](std::byte b) { return b == std::byte{0}; });
}

std::uint64_t FrameProbe::find_valid_header(std::uint64_t from) {
  const std::uint64_t stop = region_.stop();
  while (from < stop && stop - from >= kFrameOverhead) {
    const std::size_t size = region_.available(from, 4 * kHeaderBytes);
    const std::size_t at = find_header({region_.look(from, size), size}, 0);
    if (at < size) return from + at;
    // The last bytes may be the start of a header.
    from += size - (kHeaderBytes - 1);
  }
  return stop;
}

std::uint64_t FrameProbe::find_whole(std::uint64_t from, std::uint64_t before) {
  while ((from = find_valid_header(from)) < before) {
    if (probe(from).is_whole()) return from;
    ++from;
  }
  return region_.stop();
}

}  // namespace penstock
