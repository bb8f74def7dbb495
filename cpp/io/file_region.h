// A part of a local file that is searched for records: bytes at any offset, and the checksum of any range.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/file.h"

namespace penstock {

// For one thread. All offsets are relative to the file. Throws std::system_error if the file became shorter.
class FileRegion {
 public:
  // The most that look() returns.
  static constexpr std::size_t kWindowBytes = std::size_t{256} << 10;

  // When `cancelled` becomes true, the next read throws std::runtime_error.
  FileRegion(const std::filesystem::path& path, std::uint64_t start, std::uint64_t stop,
             const std::atomic<bool>* cancelled = nullptr);

  std::uint64_t start() const { return start_; }
  std::uint64_t stop() const { return stop_; }

  // Returns `size` bytes, valid until the next look(). They must end before stop(), and are at most kWindowBytes.
  const std::byte* look(std::uint64_t at, std::size_t size);

  // Returns up to kPeekBytes, valid until the next peek(). Keeps the window of look().
  static constexpr std::size_t kPeekBytes = 16;
  const std::byte* peek(std::uint64_t at, std::size_t size);

  // How many bytes from `at` on are in the window of look(); at least `least`, unless the region ends before.
  std::size_t available(std::uint64_t at, std::size_t least);

  // Returns the checksum of [begin, end).
  //
  // Long ranges are read completely until they add up to the size of the region. From then on, checksums of prefixes
  // are stored at strides, and a range costs at most two strides: a file full of headers that claim long payloads takes
  // linear time.
  std::uint32_t checksum(std::uint64_t begin, std::uint64_t end);

  // Bytes that were read for checksums.
  std::uint64_t work() const { return work_; }

 private:
  bool has(std::uint64_t begin, std::uint64_t end) const {
    return begin >= window_at_ && end <= window_at_ + window_size_;
  }
  void read(std::byte* out, std::size_t size, std::uint64_t at) const;
  std::uint32_t extend(std::uint32_t crc, std::uint64_t begin, std::uint64_t end);
  void keep_prefixes();

  const File file_;
  const std::uint64_t start_;
  const std::uint64_t stop_;
  const std::atomic<bool>* const cancelled_;
  std::vector<std::byte> window_;
  std::uint64_t window_at_;
  std::size_t window_size_ = 0;
  std::vector<std::byte> scratch_;
  std::array<std::byte, kPeekBytes> peek_;
  std::vector<std::uint32_t> prefixes_;  // of the region's first i strides
  std::uint64_t long_ranges_ = 0;        // bytes that were read for them
  std::uint64_t work_ = 0;
};

}  // namespace penstock
