// Finds the way back into a file whose header chain is broken.
#pragma once

#include <cstdint>
#include <filesystem>

namespace penstock {

// The offset of the first frame at or after `start` that is whole: a header that checks itself, a length that fits the
// file and the limit, and a payload that matches its checksum. The file's size where there is none.
//
// A file made for it can hold many headers that claim long payloads; after checking eight times what is left of the
// file the search gives up and answers the file's size, so that the cost stays linear.
std::uint64_t find_record(const std::filesystem::path& path, std::uint64_t start, std::uint64_t max_record_bytes);

}  // namespace penstock
