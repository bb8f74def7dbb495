// Counts a file's records by reading their headers alone: for files whose payloads are large.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/frame.h"

namespace penstock {

struct HopResult {
  std::uint64_t count = 0;  // whole records
  Fault fault;              // why the hop ended early, or kNone
};

// From `start`, which must be where a frame starts. Headers are checked and lengths compared with the file's size;
// payloads are not read. `start_record` numbers the first frame in a fault.
HopResult hop_headers(const std::filesystem::path& path, std::uint64_t start, std::uint64_t start_record,
                      std::uint64_t max_record_bytes);

}  // namespace penstock
