// Reads the Huffman codes at the start of a dynamic block.
#pragma once

#include "core/inflate/bit_reader.h"
#include "core/inflate/code_table.h"

namespace penstock::inflate {

// The result of parsing a part of a stream. With kNeedsInput, all input is held as bits.
enum class Progress { kDone, kNeedsInput, kDamaged };

// Reads the codes of one block, over any number of inputs.
class CodesReader {
 public:
  // Reads what follows the three header bits. kDamaged if zlib rejects it too.
  Progress read(BitReader& bits, Input& input, BlockCodes& codes);

 private:
  enum class Stage { kCounts, kLengthsOfLengths, kLengths };

  Progress read_counts(BitReader& bits, Input& input);
  Progress read_lengths_of_lengths(BitReader& bits, Input& input);
  Progress read_lengths(BitReader& bits, Input& input);

  Stage stage_ = Stage::kCounts;
  std::size_t literals_ = 0, distances_ = 0, sent_ = 0;
  std::size_t next_ = 0;  // index within this stage
  std::array<std::uint8_t, 19> lengths_of_lengths_{};
  std::array<std::uint8_t, 286 + 30> lengths_{};
  LengthsTable table_{};
};

// The codes that the format defines, built once.
const BlockCodes& fixed_codes();

}  // namespace penstock::inflate
