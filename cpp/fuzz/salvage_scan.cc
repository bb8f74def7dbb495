// Salvage scans of damaged files: the first byte selects the options.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/checks.h"
#include "tests/salvage_scan_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] & 1) penstock::tests::seal(file);
  if (data[0] & 32 && file.size() > 40) file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ 1);
  penstock::tests::check_salvage_scan(file, data[0] >> 1);
  return 0;
}
