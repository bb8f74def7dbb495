#include "tests/survey_check.h"

#include <cstdint>
#include <vector>

#include "io/survey.h"
#include "tests/checks.h"
#include "tests/file_in_memory.h"

namespace penstock::tests {
namespace {

void check_frames_of(const std::string& file, const Stretch& stretch) {
  const auto bytes = std::as_bytes(std::span(file)).subspan(stretch.start, stretch.stop - stretch.start);
  std::vector<Span> spans;
  require(walk_frames(bytes, kLargestRecord, 0, false, spans).state == WalkState::kDone, "what is saved are no frames");
  require(spans.size() == stretch.records, "records are miscounted");
  require(find_unsound(bytes.data(), spans, 0) == spans.size(), "a record is saved that is damaged");
}

}  // namespace

void check_survey(const std::string& file, unsigned choice) {
  const FileInMemory stored(file);
  SurveyOptions options;
  options.stop = file.size();
  options.starts_at_record = choice & 1;
  options.ends_with_file = choice & 2;
  options.flat = choice & 4;
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

}  // namespace penstock::tests
