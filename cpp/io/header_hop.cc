#include "io/header_hop.h"

#include <algorithm>
#include <array>

#include "core/bytes.h"
#include "io/file.h"

namespace penstock {

HopResult hop_headers(const std::filesystem::path& path, std::uint64_t start, std::uint64_t start_record,
                      std::uint64_t max_record_bytes) {
  const File file(path);
  const std::uint64_t end = file.size();
  const std::uint64_t limit = std::min(max_record_bytes, kLargestRecord);
  HopResult result;
  for (std::uint64_t offset = start; offset < end;) {
    const std::uint64_t left = end - offset;
    const auto fail = [&](FaultKind kind, std::uint64_t need) {
      result.fault = {kind, offset, start_record + result.count, need, left};
      return result;
    };
    std::array<std::byte, kHeaderBytes> header;
    if (file.read_at(header.data(), header.size(), offset) < header.size())
      return fail(FaultKind::kTruncatedHeader, kHeaderBytes);
    if (!header_is_sound(header.data())) return fail(FaultKind::kLengthChecksum, 0);
    const std::uint64_t length = load_le64(header.data());
    if (length > limit) return fail(FaultKind::kTooLarge, length);
    if (length + kFrameOverhead > left) return fail(FaultKind::kTruncatedRecord, length + kFrameOverhead);
    offset += length + kFrameOverhead;
    ++result.count;
  }
  return result;
}

}  // namespace penstock
