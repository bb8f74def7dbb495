// Header walks on several threads: the first byte selects the size of the pieces.
//
// Wherever the file is cut, the walk finds the same frames as a sequential walk, and ends as that does.
#include "io/header_walk.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/checks.h"
#include "tests/file_in_memory.h"

namespace penstock::tests {
namespace {

constexpr std::uint64_t kMaxBytes = 1 << 16;

void check_walk(const std::string& file, std::size_t piece_bytes, std::uint64_t stride) {
  const FileInMemory stored(file);
  HeaderWalkOptions options;
  options.max_record_bytes = kMaxBytes;
  options.threads = 2;
  options.piece_bytes = piece_bytes;
  options.keep_lengths = true;
  HeaderWalk walk(stored.path(), options);
  std::vector<std::uint64_t> lengths;
  for (bool more = true; more;) {
    more = walk.advance(stride);
    for (const std::uint64_t length : walk.take_lengths()) lengths.push_back(length);
  }
  std::vector<Span> spans;
  const WalkResult plain = walk_frames(std::as_bytes(std::span(file)), kMaxBytes, 0, false, spans);
  require(lengths.size() == spans.size() && walk.records() == spans.size(), "records are miscounted");
  for (std::size_t i = 0; i < spans.size(); ++i) require(lengths[i] == spans[i].length, "a length is wrong");
  require(walk.position() == plain.consumed, "the walk ends elsewhere");
  require((walk.fault().kind == FaultKind::kNone) == (plain.state == WalkState::kDone), "a fault is missed or made up");
}

}  // namespace
}  // namespace penstock::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] & 1) penstock::tests::seal(file);
  penstock::tests::check_walk(file, 16 + data[0], data[0] & 2 ? 100 : 1 << 20);
  return 0;
}
