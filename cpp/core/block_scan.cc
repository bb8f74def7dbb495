#include "core/block_scan.h"

#include <algorithm>

namespace penstock {

BlockScan scan_block(const std::byte* buffer, std::size_t begin, std::size_t end, const BlockScanOptions& options) {
  if (!options.at_frame) {
    const std::size_t searched = std::min(end - begin, 4 * BlockScan::kLongRecord);
    const std::size_t found = find_likely_header({buffer + begin, searched});
    if (found == searched) return {};
    begin += found;
  }
  auto spans = std::make_shared<std::vector<Span>>();
  spans->reserve(options.expected_records + options.expected_records / 8 + BlockScan::kSpareSpans);
  spans->resize(BlockScan::kSpareSpans);
  const WalkResult result =
      walk_frames({buffer + begin, end - begin}, options.max_record_bytes, begin, options.verify, *spans);
  return {begin, begin + result.consumed, std::move(spans)};
}

}  // namespace penstock
