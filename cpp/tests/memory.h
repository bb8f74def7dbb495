// Monitored memory: every allocation is counted, and an input can end right before an unmapped page.
#pragma once

#include <cstddef>
#include <span>

#include "core/buffer.h"

namespace penstock::tests {

// Bytes from `operator new` that were not deleted yet.
std::size_t allocated_bytes();

// The maximum of allocated_bytes() since restart_peak().
std::size_t peak_bytes();
void restart_peak();

// Copies `bytes` into a buffer of exactly their size. If guarded, the buffer ends where an unmapped page begins. Only
// one guarded buffer may exist at a time; like real inputs, it may be unaligned.
SharedBuffer place_input(std::span<const std::byte> bytes, bool guarded);

}  // namespace penstock::tests
