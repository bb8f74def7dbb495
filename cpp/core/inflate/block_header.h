// Reads the codes that a block with codes of its own begins with.
#pragma once

#include "core/inflate/bits.h"
#include "core/inflate/code_table.h"

namespace penstock::inflate {

// Reads behind the three bits that say what kind of block it is. False where zlib, too, refuses them, or the input
// ends.
bool read_codes(Bits& bits, Input& input, BlockCodes& codes);

// The codes that the format fixes, made once.
const BlockCodes& fixed_codes();

}  // namespace penstock::inflate
