#include "io/file_region.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "core/crc32c/combine.h"
#include "core/crc32c/crc32c.h"

namespace penstock {
namespace {

constexpr std::uint64_t kStrideBytes = 4 << 10;
constexpr std::uint64_t kLongBytes = 4 * kStrideBytes;

}  // namespace

FileRegion::FileRegion(const std::filesystem::path& path, std::uint64_t start, std::uint64_t stop,
                       const std::atomic<bool>* cancelled)
    : file_(path),
      start_(start),
      stop_(std::max(start, std::min(stop, file_.size()))),
      cancelled_(cancelled),
      window_at_(start) {
  window_.resize(kWindowBytes);
  scratch_.resize(kWindowBytes);
}

const std::byte* FileRegion::look(std::uint64_t at, std::size_t size) {
  if (!has(at, at + size)) {
    window_at_ = at;
    window_size_ = 0;
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(kWindowBytes, stop_ - at));
    read(window_.data(), most, at);
    window_size_ = most;
  }
  return window_.data() + (at - window_at_);
}

const std::byte* FileRegion::peek(std::uint64_t at, std::size_t size) {
  if (has(at, at + size)) return window_.data() + (at - window_at_);
  read(peek_.data(), size, at);
  return peek_.data();
}

std::size_t FileRegion::available(std::uint64_t at, std::size_t least) {
  const std::uint64_t left = stop_ - at;
  look(at, static_cast<std::size_t>(std::min<std::uint64_t>(least, left)));
  return window_size_ - static_cast<std::size_t>(at - window_at_);
}

std::uint32_t FileRegion::checksum(std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t size = end - begin;
  if (size <= kLongBytes) {
    look(begin, static_cast<std::size_t>(size));  // small frames probably have neighbors
    return extend(0, begin, end);
  }
  if (prefixes_.empty()) {
    if (long_ranges_ <= stop_ - start_) {
      long_ranges_ += size;
      return extend(0, begin, end);
    }
    keep_prefixes();
  }
  // From one stride's end to another's, and on to the end of the range; then the part before the range is removed.
  const std::uint64_t first = (begin - start_ + kStrideBytes - 1) / kStrideBytes, last = (end - start_) / kStrideBytes;
  const std::uint64_t inner = start_ + first * kStrideBytes;
  const std::uint32_t head = extend(0, begin, inner);
  const std::uint32_t through = extend(prefixes_[last], start_ + last * kStrideBytes, end);
  const std::uint32_t tail = crc32c_suffix(through, prefixes_[first], end - inner);
  // With 0 as the checksum of both, crc32c_suffix() shifts the first checksum by the bytes of the second.
  return crc32c_suffix(0, head, end - inner) ^ tail;
}

void FileRegion::keep_prefixes() {
  std::vector<std::uint32_t> prefixes{0};
  prefixes.reserve(static_cast<std::size_t>((stop_ - start_) / kStrideBytes + 1));
  for (std::uint64_t at = start_; stop_ - at >= kStrideBytes; at += kStrideBytes)
    prefixes.push_back(extend(prefixes.back(), at, at + kStrideBytes));
  prefixes_ = std::move(prefixes);
}

std::uint32_t FileRegion::extend(std::uint32_t crc, std::uint64_t begin, std::uint64_t end) {
  work_ += end - begin;
  if (has(begin, end))
    return crc32c_extend(crc, window_.data() + (begin - window_at_), static_cast<std::size_t>(end - begin));
  while (begin < end) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(scratch_.size(), end - begin));
    read(scratch_.data(), size, begin);
    crc = crc32c_extend(crc, scratch_.data(), size);
    begin += size;
  }
  return crc;
}

void FileRegion::read(std::byte* out, std::size_t size, std::uint64_t at) const {
  if (cancelled_ != nullptr && *cancelled_) throw std::runtime_error("the search was cancelled");
  if (file_.read_at(out, size, at) != size)
    throw std::system_error(std::make_error_code(std::errc::io_error), "the file became shorter while it was read");
}

}  // namespace penstock
