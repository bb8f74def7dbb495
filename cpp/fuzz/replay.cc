// Runs a fuzz target on files, without a fuzzer: usage  replay FILE...
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

const char* current = "";

}  // namespace

int main(int count, char** paths) {
  penstock::tests::before_death = [] { std::fprintf(stderr, "input: %s\n", current); };
  for (int i = 1; i < count; ++i) {
    current = paths[i];
    std::ifstream file(current, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::printf("%d inputs replayed\n", count - 1);
  return 0;
}
