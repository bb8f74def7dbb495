// The search for values in Examples: the first byte places the record before an unmapped page, or not.
#include <cstddef>
#include <cstdint>

#include "tests/locations_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  penstock::tests::check_locations(std::string(reinterpret_cast<const char*>(data) + 1, size - 1), data[0] & 1);
  return 0;
}
