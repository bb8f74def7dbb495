// Finds the way back into a file whose header chain is broken.
#pragma once

#include <cstdint>
#include <filesystem>

namespace penstock {

// The offset of the first frame at or after `start` that is whole: a header that checks itself, a length that fits the
// file and the limit, and a payload that matches its checksum. The file's size where there is none.
//
// A file made for it can hold many headers that claim long payloads. `budget` is how many bytes of payloads may be
// checked, and is lowered by what was; when it is spent the search gives up and answers the file's size. With one
// budget for a whole pass the cost stays linear.
std::uint64_t find_record(const std::filesystem::path& path, std::uint64_t start, std::uint64_t max_record_bytes,
                          std::uint64_t& budget);

}  // namespace penstock
