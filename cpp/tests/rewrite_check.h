// Invariants of copying records with features left out or renamed.
#pragma once

#include <string>

namespace penstock::tests {

// The copy is well-formed where the record is, and has its entries but for those that are left out or renamed. The bits
// of `chosen` select the kind of record, whether the rest of it stays, and where it lies in memory.
void check_rewrite(const std::string& record, unsigned chosen);

}  // namespace penstock::tests
