// Invariants of a salvage scan that hold for any file.
#pragma once

#include <string>

namespace penstock::tests {

// The result covers the file; whole and doubtful stretches are frames whose checksums match, and lost ones contain none
// except in a payload; the work is bounded. The bits of `choice` are options.
void check_salvage_scan(const std::string& file, unsigned choice);

}  // namespace penstock::tests
