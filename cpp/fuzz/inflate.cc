// Deflate data: the first two bytes select the expected size, and the stream that it is interleaved with.
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/inflate_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  penstock::tests::Random random(data[1]);
  const std::string stream(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::string plain;
  // The sizes of what is in the corpus, and some that are not right.
  const std::size_t said = data[0] < 200 ? data[0] : (data[0] - 199) * std::size_t{100};
  penstock::tests::check_inflate(random, stream, said, plain);
  return 0;
}
