// Records copied with features left out or renamed: the first byte selects the kind of record, and what stays.
#include <cstddef>
#include <cstdint>

#include "tests/rewrite_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  penstock::tests::check_rewrite(std::string(reinterpret_cast<const char*>(data) + 1, size - 1), data[0]);
  return 0;
}
