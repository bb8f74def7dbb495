#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <filesystem>
#include <future>

#include "bindings/bindings.h"
#include "core/chunk.h"
#include "core/example/record_sort.h"
#include "io/survey.h"

namespace penstock::bindings {
namespace {

const char* name_of(StretchKind kind) {
  switch (kind) {
    case StretchKind::kWhole:
      return "whole";
    case StretchKind::kDoubtful:
      return "doubtful";
    case StretchKind::kLost:
      return "lost";
  }
  return "lost";
}

// Surveys on a thread of its own, so that Ctrl-C is heard: large files take long.
Survey interruptible_survey(const std::filesystem::path& path, SurveyOptions options) {
  std::atomic<bool> cancelled = false;
  options.cancelled = &cancelled;
  std::future<Survey> found = std::async(std::launch::async, [&] { return survey(path, options); });
  try {
    wait_for([&](auto patience) { return found.wait_for(patience) == std::future_status::ready; });
  } catch (...) {
    cancelled = true;
    const nb::gil_scoped_release release;
    found.wait();
    throw;
  }
  return found.get();
}

template <typename Test>
bool holds_for_all(const Chunk& chunk, Test&& test) {
  const nb::gil_scoped_release release;
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    const Span span = chunk.span(i);
    if (!test(wire::Bytes{chunk.buffer->data() + span.offset, static_cast<std::size_t>(span.length)})) return false;
  }
  return true;
}

}  // namespace

void bind_surveying(nb::module_& m) {
  nb::class_<Stretch>(m, "Stretch", "A part of a damaged file.")
      .def_prop_ro(
          "kind", [](const Stretch& s) { return name_of(s.kind); },
          "One of whole (records), doubtful (records, perhaps of a payload), lost.")
      .def_ro("start", &Stretch::start, "Byte offset.")
      .def_ro("stop", &Stretch::stop, "Byte offset behind it.")
      .def_ro("records", &Stretch::records, "How many there are, one behind the other.")
      .def_ro("is_likely", &Stretch::is_likely,
              "What is in doubt is inside a payload only if damage hit one that holds TFRecords twice.")
      .def_ro("fault", &Stretch::fault, "Why it is lost; the number of the record is not set.");

  m.def(
      "survey",
      [](const std::filesystem::path& path, std::uint64_t start, std::uint64_t stop, bool starts_at_record,
         bool ends_with_file, std::uint64_t max_record_bytes, bool flat) {
        const Survey found = interruptible_survey(
            path, {start, stop, starts_at_record, ends_with_file, max_record_bytes, flat, nullptr});
        return nb::make_tuple(found.stretches, found.work);
      },
      nb::arg("path"), nb::arg("start"), nb::arg("stop"), nb::kw_only(), nb::arg("starts_at_record") = true,
      nb::arg("ends_with_file") = true, nb::arg("max_record_bytes") = std::uint64_t{1} << 30, nb::arg("flat") = false,
      nb::sig("def survey(path: str | os.PathLike[str], start: int, stop: int, *, starts_at_record: bool = True, "
              "ends_with_file: bool = True, max_record_bytes: int = 1073741824, flat: bool = False) -> "
              "tuple[list[Stretch], int]"),
      "What can be saved of a part of a damaged file: stretches that tile it, and the bytes that were read for "
      "checksums or searched more than once.");

  nb::class_<RecordSort>(m, "RecordSort",
                         "What records have in common, which tells whether others are of the same sort.")
      .def(nb::init<>())
      .def_prop_ro("has_features", &RecordSort::has_features,
                   "Whether all that was learned are Examples with features.")
      .def(
          "learn",
          [](RecordSort& sort, const Chunk& chunk) {
            return holds_for_all(chunk, [&](wire::Bytes record) { return sort.learn(record); });
          },
          nb::arg("chunk"), "Take records in; False where there is a header of a TFRecord in one of them.")
      .def(
          "fits",
          [](const RecordSort& sort, const Chunk& chunk) {
            return holds_for_all(chunk, [&](wire::Bytes record) { return sort.fits(record); });
          },
          nb::arg("chunk"), "Whether records could be some of them: they have no features that are not known.");
}

}  // namespace penstock::bindings
