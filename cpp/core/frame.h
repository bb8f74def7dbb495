// TFRecord frames, sans IO: bytes in, frames out, and the reverse.
//
//   offset  bytes  content
//   0       8      n, the payload's length, little-endian
//   8       4      masked CRC32C of bytes 0..7
//   12      n      payload
//   12+n    4      masked CRC32C of the payload
//
// A file is frames and nothing else. Lengths are hostile until proven: nothing here allocates from a declared length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

inline constexpr std::size_t kHeaderBytes = 12;
inline constexpr std::size_t kFooterBytes = 4;
inline constexpr std::size_t kFrameOverhead = kHeaderBytes + kFooterBytes;

// A limit on declared lengths that keeps every sum of offsets below 2^63.
inline constexpr std::uint64_t kLargestRecord = std::uint64_t{1} << 62;

// A payload inside a buffer. Its frame starts kHeaderBytes before.
struct Span {
  std::uint64_t offset;
  std::uint64_t length;
};

enum class FaultKind : std::uint8_t {
  kNone,
  kLengthChecksum,   // the header does not check itself
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
  std::uint64_t need = 0;    // bytes that the frame claims, its overhead included (0 when its header is unreadable)
  std::uint64_t have = 0;    // bytes that the input has from the frame's start, as far as they are known
};

enum class WalkState : std::uint8_t {
  kDone,      // the bytes end where a frame ends
  kNeedMore,  // the bytes end inside a frame
  kFault,     // the next header is bad, or the next payload
};

struct WalkResult {
  WalkState state = WalkState::kDone;
  FaultKind fault = FaultKind::kNone;
  std::size_t consumed = 0;  // bytes of whole frames
  std::uint64_t need = 0;    // with kNeedMore: bytes from `consumed` on that would complete what is next (header, or
                             // frame); with kDataChecksum: those of the damaged frame
};

// Walks from header to header, checking each, and appends the payloads of whole frames to `spans` (offsets relative to
// `bytes`, plus `base`). With `verify`, payloads are checked on the way, which costs less than to come back for them.
WalkResult walk_frames(std::span<const std::byte> bytes, std::uint64_t max_record_bytes, std::uint64_t base,
                       bool verify, std::vector<Span>& spans);

// True when the four bytes behind the payload are its checksum.
bool payload_is_valid(const std::byte* buffer, Span span);

// The first payload at or after `from` that does not match its checksum, or spans.size().
std::size_t find_invalid(const std::byte* buffer, std::span<const Span> spans, std::size_t from);

// True when 12 bytes at `p` are a header that checks itself.
bool header_is_valid(const std::byte* p);

// In how many bits 12 bytes at `p` differ from the header of a payload of `length` bytes.
int header_bit_errors(const std::byte* p, std::uint64_t length);

// The length in 12 bytes at `p` that are a header with one wrong bit; the length as it stands there where more are
// wrong.
std::uint64_t corrected_length(const std::byte* p);

// The first position at or after `from` where a header checks itself, or bytes.size() when none does. Positions within
// the last kHeaderBytes - 1 bytes are not decided.
std::size_t find_header(std::span<const std::byte> bytes, std::size_t from);

// The same for records that are not empty and shorter than 4 GiB, which is much quicker.
std::size_t find_likely_header(std::span<const std::byte> bytes);

void write_header(std::byte* out, std::uint64_t length);

// Writes the checksum behind a payload of `length` bytes that already stands behind the header at `frame`.
void write_footer(std::byte* frame, std::size_t length);

// Copies a payload behind the header at `frame`, and its checksum behind that. The checksum is of the copy.
void copy_payload(std::byte* frame, std::span<const std::byte> payload);

// The CRC32C of all bytes of sound frames, continuing from `crc`. Long payloads are not read again: their checksums
// stand behind them.
std::uint32_t crc32c_of_frames(std::uint32_t crc, std::span<const std::byte> frames);

}  // namespace penstock
