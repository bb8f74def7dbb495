// What has to hold of a search for what can be saved, whatever the file.
#pragma once

#include <string>

namespace penstock::tests {

// What the search answers tiles the file; what it calls whole, or in doubt, is frames whose checksums match, and what
// it calls lost holds none but those of a payload; its work is bounded. The bits of `choice` are options.
void check_salvage_scan(const std::string& file, unsigned choice);

}  // namespace penstock::tests
