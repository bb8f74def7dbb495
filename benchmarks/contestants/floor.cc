// read() and CRC32C with reused buffers, and one copy: the least that a verified read of a file costs, and what it
// costs to have its bytes in another place. The checksum is the CRC instruction on three streams, whatever faster
// kernels there are: a yardstick that stays.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "core/crc32c/crc32c.h"

namespace {

constexpr long long kPiece = 256 << 10;
std::atomic<std::uint32_t> sink;  // keeps the checksums from being optimised away

// Kernels come fastest first; those behind VPCLMULQDQ's have three streams, or a table.
penstock::Crc32cKernel kernel(bool fastest) {
  const auto kernels = penstock::crc32c_kernels();
  return !fastest && std::strcmp(kernels.front().name, "vpclmul") == 0 ? kernels[1] : kernels[0];
}

void read_range(int file, long long start, long long stop, bool copy, bool fastest, std::atomic<long long>& total) {
  const auto crc32c = kernel(fastest).extend;
  std::vector<std::byte> buffer(kPiece);
  // Not at the same place in a page as the buffer: copies between such addresses stall.
  constexpr long long kShift = 512;
  std::vector<std::byte> column(copy ? kPiece + kShift : 0);
  while (start < stop) {
    const auto got = pread(file, buffer.data(), static_cast<std::size_t>(std::min(kPiece, stop - start)), start);
    if (got <= 0) return;
    sink ^= crc32c(0, buffer.data(), static_cast<std::size_t>(got));
    if (copy) {
      std::memcpy(column.data() + kShift, buffer.data(), static_cast<std::size_t>(got));
      sink ^= static_cast<std::uint32_t>(column[static_cast<std::size_t>(got) - 1]);
    }
    start += got;
    total += got;
  }
}

}  // namespace

// Each thread reads a part of its own. Answers the bytes read.
extern "C" long long read_and_check(const char* path, int threads, bool copy, bool fastest) {
  const int file = open(path, O_RDONLY);
  struct stat info{};
  if (file < 0 || fstat(file, &info) != 0) return -1;
  std::atomic<long long> total = 0;
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back(read_range, file, info.st_size * i / threads, info.st_size * (i + 1) / threads, copy, fastest,
                        std::ref(total));
  }
  read_range(file, 0, info.st_size / threads, copy, fastest, total);
  for (auto& other : others) other.join();
  close(file);
  return total;
}
