// TFRecord frames, sans IO: bytes in, frames out, and the reverse.
//
//   offset  bytes  content
//   0       8      n, the payload's length, little-endian
//   8       4      masked CRC32C of bytes 0..7
//   12      n      payload
//   12+n    4      masked CRC32C of the payload
//
// A file consists of frames only. Lengths are not trusted: nothing here allocates by a declared length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

inline constexpr std::size_t kHeaderBytes = 12;
inline constexpr std::size_t kFooterBytes = 4;
inline constexpr std::size_t kFrameOverhead = kHeaderBytes + kFooterBytes;

// A limit on declared lengths that keeps all sums of offsets below 2^63.
inline constexpr std::uint64_t kLargestRecord = std::uint64_t{1} << 62;

// A payload in a buffer. Its frame starts kHeaderBytes earlier.
struct Span {
  std::uint64_t offset;
  std::uint64_t length;
};

enum class FaultKind : std::uint8_t {
  kNone,
  kLengthChecksum,   // the header does not match its checksum
  kDataChecksum,     // the payload does not match its checksum; the frame's end is known
  kTooLarge,         // the declared length is above the limit
  kTruncatedHeader,  // the input ends inside a header
  kTruncatedRecord,  // the input ends inside a payload or its checksum
};

// What is wrong, and where. Offsets count from the start of the input.
struct Fault {
  FaultKind kind = FaultKind::kNone;
  std::uint64_t offset = 0;  // of the frame
  std::uint64_t record = 0;  // number of the frame
  std::uint64_t need = 0;    // bytes that the frame claims, including overhead (0 if its header is unreadable)
  std::uint64_t have = 0;    // bytes of the input from the frame's start, as far as known
};

enum class WalkState : std::uint8_t {
  kDone,      // the bytes end where a frame ends
  kNeedMore,  // the bytes end inside a frame
  kFault,     // the next header or payload is invalid
};

struct WalkResult {
  WalkState state = WalkState::kDone;
  FaultKind fault = FaultKind::kNone;
  std::size_t consumed = 0;  // bytes of whole frames
  std::uint64_t need = 0;  // kNeedMore: bytes from `consumed` on that complete the next header or frame; kDataChecksum:
                           // bytes of the damaged frame
};

// Walks from header to header, checks each, and appends the payloads of complete frames to `spans` (offsets relative to
// `bytes`, plus `base`). With `verify`, also checks payloads, which is cheaper than a second scan.
WalkResult walk_frames(std::span<const std::byte> bytes, std::uint64_t max_record_bytes, std::uint64_t base,
                       bool verify, std::vector<Span>& spans);

// True if the four bytes after the payload are its checksum.
bool payload_is_valid(const std::byte* buffer, Span span);

// Returns the first payload at or after `from` that does not match its checksum, or spans.size().
std::size_t find_invalid(const std::byte* buffer, std::span<const Span> spans, std::size_t from);

// True if the 12 bytes at `p` are a header with a matching checksum.
bool header_is_valid(const std::byte* p);

// Counts the bits in which the 12 bytes at `p` differ from the header of a payload of `length` bytes.
int header_bit_errors(const std::byte* p, std::uint64_t length);

// Returns the length in a header at `p` with one wrong bit, corrected; if more bits are wrong, the length as stored.
std::uint64_t corrected_length(const std::byte* p);

// Returns the first position at or after `from` with a valid header, or bytes.size(). The last kHeaderBytes - 1
// positions are not examined.
std::size_t find_header(std::span<const std::byte> bytes, std::size_t from);

// The same for non-empty records below 4 GiB, and much faster.
std::size_t find_likely_header(std::span<const std::byte> bytes);

void write_header(std::byte* out, std::uint64_t length);

// Writes the checksum after the payload of `length` bytes that follows the header at `frame`.
void write_footer(std::byte* frame, std::size_t length);

// Copies a payload after the header at `frame`, then the checksum of the copy.
void copy_payload(std::byte* frame, std::span<const std::byte> payload);

// Returns the CRC32C of all bytes of valid frames, continuing from `crc`. Long payloads are not read: their checksums
// are stored after them.
std::uint32_t crc32c_of_frames(std::uint32_t crc, std::span<const std::byte> frames);

}  // namespace penstock
