#include "io/resync.h"

#include <algorithm>
#include <vector>

#include "core/bytes.h"
#include "core/crc32c/crc32c.h"
#include "core/frame.h"
#include "io/file.h"

namespace penstock {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

bool payload_matches(const File& file, std::uint64_t offset, std::uint64_t length, std::vector<std::byte>& scratch) {
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < length;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kBlockBytes, length - done));
    if (file.read_at(scratch.data(), size, offset + done) != size) return false;
    crc = crc32c_extend(crc, scratch.data(), size);
    done += size;
  }
  if (file.read_at(scratch.data(), kFooterBytes, offset + length) != kFooterBytes) return false;
  return mask_crc(crc) == load_le32(scratch.data());
}

}  // namespace

std::uint64_t find_record(const std::filesystem::path& path, std::uint64_t start, std::uint64_t max_record_bytes,
                          std::uint64_t& budget) {
  const File file(path);
  const std::uint64_t end = file.size();
  const std::uint64_t limit = std::min(max_record_bytes, kLargestRecord);
  std::vector<std::byte> block(kBlockBytes), scratch(kBlockBytes);
  while (start < end) {
    const std::size_t size = file.read_at(block.data(), kBlockBytes, start);
    if (size < kFrameOverhead) return end;
    const std::span<const std::byte> bytes(block.data(), size);
    for (std::size_t at = 0; (at = find_header(bytes, at)) < size; ++at) {
      const std::uint64_t length = load_le64(block.data() + at), left = end - start - at;
      if (length > limit || left < kFrameOverhead || length > left - kFrameOverhead) continue;
      if (length > budget) return end;
      budget -= length;
      if (payload_matches(file, start + at + kHeaderBytes, length, scratch)) return start + at;
    }
    // The last bytes may be the start of a header that the next block completes.
    start += size - (kHeaderBytes - 1);
  }
  return end;
}

}  // namespace penstock
