// Damaged files that are searched for what can be saved: the first byte chooses the options.
//
// What the search answers tiles the file; what it calls whole is frames whose checksums match; its work is bounded.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/file_in_memory.h"
#include "io/survey.h"
#include "tests/checks.h"

namespace penstock::tests {
namespace {

void check_frames_of(const std::string& file, const Stretch& stretch) {
  const auto bytes = std::as_bytes(std::span(file)).subspan(stretch.start, stretch.stop - stretch.start);
  std::vector<Span> spans;
  require(walk_frames(bytes, kLargestRecord, 0, false, spans).state == WalkState::kDone, "what is saved are no frames");
  require(spans.size() == stretch.records, "records are miscounted");
  require(find_unsound(bytes.data(), spans, 0) == spans.size(), "a record is saved that is damaged");
}

void check_survey(const std::string& file, unsigned choice) {
  const FileInMemory stored(file);
  SurveyOptions options;
  options.stop = file.size();
  options.starts_at_record = choice & 2;
  options.ends_with_file = choice & 4;
  options.flat = choice & 8;
  const Survey found = survey(stored.path(), options);
  std::uint64_t at = 0;
  for (const Stretch& stretch : found.stretches) {
    require(stretch.start == at && stretch.stop > at && stretch.stop <= file.size(), "the stretches do not tile");
    at = stretch.stop;
    if (stretch.kind != StretchKind::kLost) check_frames_of(file, stretch);
  }
  require(at == file.size(), "the search ends before the file");
  require(found.work <= 64 * file.size() + (1 << 20), "the search takes too long");
}

}  // namespace
}  // namespace penstock::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string file(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] & 1) penstock::tests::seal(file);
  if (data[0] & 32 && file.size() > 40) file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ 1);
  penstock::tests::check_survey(file, data[0]);
  return 0;
}
