#include "io/header_window.h"

#include <algorithm>
#include <system_error>

#include "core/little_endian.h"

namespace penstock {
namespace {

// Fits the second-level cache of most CPUs.
constexpr std::size_t kWindowBytes = std::size_t{128} << 10;

}  // namespace

HeaderWindow::HeaderWindow(const File& file, std::uint64_t file_size, std::uint64_t limit)
    : file_(file),
      file_size_(file_size),
      limit_(std::min(limit, kLargestRecord)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kWindowBytes)) {}

// Returns bytes `offset` to `offset + size`, which the file has. If they must be read, reads up to `wanted`.
const std::byte* HeaderWindow::read_window(std::uint64_t offset, std::size_t size, std::size_t wanted) {
  if (offset < begin_ || offset + size > end_) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(wanted, file_size_ - offset));
    if (file_.read_at(buffer_.get(), count, offset) != count)
      throw std::system_error(std::make_error_code(std::errc::io_error), "the file became shorter while it was read");
    begin_ = offset;
    end_ = offset + count;
  }
  return buffer_.get() + (offset - begin_);
}

HeaderWindow::Frame HeaderWindow::frame_at(std::uint64_t offset) {
  const std::uint64_t left = file_size_ - offset;
  if (left < kHeaderBytes) return {FaultKind::kTruncatedHeader, 0};
  const std::byte* header =
      read_window(offset, kHeaderBytes, usual_frame_ < kMinSeekBytes ? kWindowBytes : kHeaderBytes);
  if (!header_is_valid(header)) return {FaultKind::kLengthChecksum, 0};
  const std::uint64_t length = load_le64(header);
  if (length > limit_) return {FaultKind::kTooLarge, length};
  const std::uint64_t size = length + kFrameOverhead;
  if (size > left) return {FaultKind::kTruncatedRecord, length};
  usual_frame_ = usual_frame_ - usual_frame_ / 4 + size / 4;
  return {FaultKind::kNone, length};
}

std::uint64_t HeaderWindow::find_frame(std::uint64_t from, std::uint64_t stop) {
  while (from < stop && file_size_ - from >= kFrameOverhead) {
    const std::byte* bytes = read_window(from, kFrameOverhead, kWindowBytes);
    // A header that starts before `stop` may end after it.
    const auto size = static_cast<std::size_t>(std::min(end_ - from, stop - from + kHeaderBytes - 1));
    const std::size_t found = find_header({bytes, size}, 0);
    if (found == size) {
      // The last bytes may be the start of a header.
      from += size - (kHeaderBytes - 1);
      continue;
    }
    from += found;
    if (frame_at(from).fault == FaultKind::kNone) return from;
    ++from;
  }
  return kNotFound;
}

}  // namespace penstock
