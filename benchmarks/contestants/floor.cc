// read() and CRC32C with reused buffers, and one copy: the least that a verified read of a file costs, and what it
// costs to have its bytes in another place. The checksum is the CRC instruction on three streams, whatever faster
// kernels there are: a yardstick that stays.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "core/crc32c/crc32c.h"

namespace {

constexpr long long kPiece = 256 << 10, kPage = 4096;
std::atomic<std::uint32_t> sink;  // keeps the checksums from being optimised away

// Kernels come fastest first; those after VPCLMULQDQ's have three streams, or a table.
penstock::Crc32cKernel kernel(bool fastest) {
  const auto kernels = penstock::crc32c_kernels();
  return !fastest && std::strcmp(kernels.front().name, "vpclmul") == 0 ? kernels[1] : kernels[0];
}

void read_range(int file, long long start, long long stop, bool copy, bool fastest, std::atomic<long long>& total) {
  const auto crc32c = kernel(fastest).extend;
  // Copies stall where the target lies a few bytes further into its page than the source: the buffer starts a page, as
  // the kernel's own memory does, and the column lies half a KiB off.
  struct alignas(kPage) Pages {
    std::array<std::byte, kPiece> buffer, column;
    std::array<std::byte, kPage> rest;
  };
  const auto pages = std::make_unique_for_overwrite<Pages>();
  std::byte* const buffer = pages->buffer.data();
  std::byte* const column = pages->column.data() + 512;
  while (start < stop) {
    const auto got = pread(file, buffer, static_cast<std::size_t>(std::min(kPiece, stop - start)), start);
    if (got <= 0) return;
    sink ^= crc32c(0, buffer, static_cast<std::size_t>(got));
    if (copy) {
      std::memcpy(column, buffer, static_cast<std::size_t>(got));
      sink ^= static_cast<std::uint32_t>(column[static_cast<std::size_t>(got) - 1]);
    }
    start += got;
    total += got;
  }
}

}  // namespace

// Each thread reads a part of its own. Returns the bytes read.
extern "C" long long read_and_check(const char* path, int threads, bool copy, bool fastest) {
  const int file = open(path, O_RDONLY);
  struct stat info{};
  if (file < 0 || fstat(file, &info) != 0) return -1;
  std::atomic<long long> total = 0;
  std::vector<std::thread> others;
  const auto start = [&](int i) { return i == threads ? info.st_size : info.st_size * i / threads / kPage * kPage; };
  for (int i = 1; i < threads; ++i)
    others.emplace_back(read_range, file, start(i), start(i + 1), copy, fastest, std::ref(total));
  read_range(file, 0, start(1), copy, fastest, total);
  for (auto& other : others) other.join();
  close(file);
  return total;
}
