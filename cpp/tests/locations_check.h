// Invariants of the search for values in Examples.
#pragma once

#include <string>

namespace penstock::tests {

// Every value that is found lies in the record and has its checksum, and the values are those that a decoder returns.
void check_locations(const std::string& record, bool guarded);

}  // namespace penstock::tests
