// Files of frames: the first byte selects how they are cut into pieces, and whether their checksums are fixed.
#include <cstddef>
#include <cstdint>

#include "tests/checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock::tests;
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] & 1) seal(file);
  Random random(data[0]);
  check_frames(random, file);
  return 0;
}
