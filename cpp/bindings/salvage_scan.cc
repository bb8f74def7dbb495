#include "io/salvage_scan.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <filesystem>
#include <future>

#include "bindings/bindings.h"

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

// Scans on a separate thread, so that Ctrl-C works: large files take long.
SalvageScan interruptible_scan(const std::filesystem::path& path, SalvageScanOptions options) {
  std::atomic<bool> cancelled = false;
  options.cancelled = &cancelled;
  std::future<SalvageScan> found = std::async(std::launch::async, [&] { return salvage_scan(path, options); });
  try {
    wait_for([&](auto timeout) { return found.wait_for(timeout) == std::future_status::ready; });
  } catch (...) {
    cancelled = true;
    const ReleasedGil release;
    found.wait();
    throw;
  }
  return found.get();
}

}  // namespace

void bind_salvage_scan(nb::module_& m) {
  nb::class_<Stretch>(m, "Stretch", "A part of a damaged file.")
      .def_prop_ro(
          "kind", [](const Stretch& s) { return name_of(s.kind); },
          "One of whole (records), doubtful (frames that may not be records of the file), lost.")
      .def_ro("start", &Stretch::start, "Byte offset.")
      .def_ro("stop", &Stretch::stop, "Byte offset after it.")
      .def_ro("records", &Stretch::records, "Number of consecutive records.")
      .def_ro("fault", &Stretch::fault, "Why it is lost; without the record number.");

  m.def(
      "salvage_scan",
      [](const std::filesystem::path& path, std::uint64_t start, std::uint64_t stop, bool starts_at_record,
         bool ends_with_file, std::uint64_t max_record_bytes, bool flat, bool by_length, std::uint64_t known_from) {
        const SalvageScan found = interruptible_scan(path, {start, stop, starts_at_record, ends_with_file,
                                                            max_record_bytes, flat, by_length, known_from, nullptr});
        return nb::make_tuple(found.stretches, found.ends_at_record, found.work);
      },
      nb::arg("path"), nb::arg("start"), nb::arg("stop"), nb::kw_only(), nb::arg("starts_at_record") = true,
      nb::arg("ends_with_file") = true, nb::arg("max_record_bytes") = std::uint64_t{1} << 30, nb::arg("flat") = false,
      nb::arg("by_length") = false, nb::arg("known_from") = SalvageScanOptions{}.known_from,
      nb::sig("def salvage_scan(path: str | os.PathLike[str], start: int, stop: int, *, starts_at_record: bool = True, "
              "ends_with_file: bool = True, max_record_bytes: int = 1073741824, flat: bool = False, by_length: bool = "
              "False, "
              "known_from: int = 18446744073709551615) -> "
              "tuple[list[Stretch], bool, int]"),
      "Find what can be recovered from a part of a damaged file. Return stretches that cover it (doubtful ones may "
      "overlap those before them), whether a record is known to start at the end of the last one if that is not "
      "`stop`, and the bytes that were read for checksums or searched more than once.");
}

}  // namespace penstock::bindings
