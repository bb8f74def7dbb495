// Memory under watch: every allocation is counted, and an input can lie so that the byte behind it is no memory at all.
#pragma once

#include <cstddef>
#include <span>

#include "core/buffer.h"

namespace penstock::tests {

// What `operator new` gave out and has not got back.
std::size_t allocated_bytes();

// The most that allocated_bytes() has been since restart_peak().
std::size_t peak_bytes();
void restart_peak();

// Copies `bytes` into a buffer of exactly their size. Guarded: the buffer ends where an unmapped page begins. One
// guarded buffer may live at a time; it need not be aligned, for inputs are not.
SharedBuffer place_input(std::span<const std::byte> bytes, bool guarded);

}  // namespace penstock::tests
