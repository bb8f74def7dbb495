// Examples and SequenceExamples under random schemas: the first two bytes determine the schema.
#include <cstddef>
#include <cstdint>

#include "tests/checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock::tests;
  if (size < 2) return 0;
  Random random(data[0] | data[1] << 8);
  penstock::BatchDecoder decoder(random_plan(random));
  penstock::FrameBuffer frames;
  check_record(random, decoder, frames, std::string(reinterpret_cast<const char*>(data) + 2, size - 2));
  return 0;
}
