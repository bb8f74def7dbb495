// Reads the codes that a block with codes of its own begins with.
#pragma once

#include "core/inflate/bit_reader.h"
#include "core/inflate/code_table.h"

namespace penstock::inflate {

// What came of a part of a stream. Where input lacks, all there was of it is held as bits.
enum class Progress { kDone, kNeedsInput, kDamaged };

// Of one block, over as many inputs as it takes.
class CodesReader {
 public:
  // Reads behind the three bits that say what kind of block it is. Damaged is what zlib, too, refuses.
  Progress read(Bits& bits, Input& input, BlockCodes& codes);

 private:
  enum class Stage { kCounts, kLengthsOfLengths, kLengths };

  Progress read_counts(Bits& bits, Input& input);
  Progress read_lengths_of_lengths(Bits& bits, Input& input);
  Progress read_lengths(Bits& bits, Input& input);

  Stage stage_ = Stage::kCounts;
  std::size_t literals_ = 0, distances_ = 0, sent_ = 0;
  std::size_t next_ = 0;  // that is to be read in this stage
  std::array<std::uint8_t, 19> lengths_of_lengths_{};
  std::array<std::uint8_t, 286 + 30> lengths_{};
  LengthsTable table_{};
};

// The codes that the format fixes, made once.
const BlockCodes& fixed_codes();

}  // namespace penstock::inflate
