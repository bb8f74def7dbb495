#include "io/file_records.h"

#include <nanobind/stl/filesystem.h>

#include <filesystem>
#include <memory>
#include <utility>
#include <variant>

#include "bindings/bindings.h"
#include "bindings/decoder.h"
#include "bindings/record_stats.h"

namespace penstock::bindings {
namespace {

nb::object next_event(FileRecords& records) {
  NextEvent event;
  wait_for([&](auto timeout) {
    event = records.next(timeout);
    return !std::holds_alternative<NotYet>(event);
  });
  if (auto* chunk = std::get_if<Chunk>(&event)) return nb::cast(std::move(*chunk));
  if (auto* fault = std::get_if<Fault>(&event)) return nb::cast(*fault);
  if (auto* is_valid = std::get_if<ValidRecords>(&event)) return nb::cast(*is_valid);
  return nb::none();
}

using OpenFileRecords = Closable<FileRecords>;

// A separate class in Python: its events differ.
struct OpenCheckedRecords : Closable<FileRecords> {
  using Closable::Closable;
};

}  // namespace

void bind_file_records(nb::module_& m) {
  nb::class_<OpenFileRecords>(m, "FileRecords", "Reads a local file's records ahead on native threads.")
      .def(
          "__init__",
          [](OpenFileRecords* self, const std::filesystem::path& path, bool verify, std::uint64_t max_record_bytes,
             std::size_t threads, std::size_t block_bytes, std::uint64_t start_offset, std::uint64_t start_record) {
            if (threads == 0 || block_bytes < 64) throw nb::value_error("threads and block_bytes must be positive");
            new (self) OpenFileRecords(std::make_shared<FileRecords>(
                path,
                BlockReaderOptions{verify, max_record_bytes, threads, block_bytes, {0, start_offset, start_record}}));
          },
          nb::arg("path"), nb::kw_only(), nb::arg("verify") = true,
          nb::arg("max_record_bytes") = std::uint64_t{1} << 30, nb::arg("threads") = 1,
          nb::arg("block_bytes") = std::size_t{1} << 20, nb::arg("start_offset") = 0, nb::arg("start_record") = 0,
          nb::sig("def __init__(self, path: str | os.PathLike[str], *, verify: bool = True, "
                  "max_record_bytes: int = 1073741824, threads: int = 1, block_bytes: int = 1048576, "
                  "start_offset: int = 0, start_record: int = 0) -> None"))
      .def(
          "next", [](OpenFileRecords& self) { return next_event(*self.get()); },
          nb::sig("def next(self) -> RecordChunk | Fault | None"),
          "Return the next chunk or fault, or None at the end.")
      .def("close", &OpenFileRecords::close, "End the threads and close the file.");

  nb::class_<ValidRecords>(m, "ValidRecords", "The number of records that were decoded and dropped.")
      .def_ro("records", &ValidRecords::records)
      .def_ro("bytes", &ValidRecords::bytes, "Of their frames.")
      .def_ro("crc32c", &ValidRecords::crc32c, "Of their frames, if requested; else 0.");

  nb::class_<OpenCheckedRecords>(m, "CheckedRecords",
                                 "Reads and decodes a local file's records, and drops those that decode.")
      .def(
          "__init__",
          [](OpenCheckedRecords* self, const std::filesystem::path& path, const Decoder& decoder,
             std::uint64_t max_record_bytes, std::size_t threads, std::size_t block_bytes, bool checksum) {
            if (threads == 0 || block_bytes < 64) throw nb::value_error("threads and block_bytes must be positive");
            BlockReaderOptions options{true, max_record_bytes, threads, block_bytes};
            // Files to check are seldom in memory, and disks are faster with large reads.
            options.slice_bytes = block_bytes;
            const auto decodes = [native = decoder.native()](const Chunk& chunk) {
              return native->decode({chunk}, {}, 1, run_here).fault.fault == ExampleFault::kNone;
            };
            new (self) OpenCheckedRecords(std::make_shared<FileRecords>(path, options, decodes, checksum));
          },
          nb::arg("path"), nb::arg("decoder"), nb::kw_only(), nb::arg("max_record_bytes") = std::uint64_t{1} << 30,
          nb::arg("threads") = 1, nb::arg("block_bytes") = std::size_t{1} << 20, nb::arg("checksum") = false,
          nb::sig("def __init__(self, path: str | os.PathLike[str], decoder: NativeDecoder, *, max_record_bytes: int "
                  "= 1073741824, threads: int = 1, block_bytes: int = 1048576, checksum: bool = False) -> None"))
      .def(
          "__init__",
          [](OpenCheckedRecords* self, const std::filesystem::path& path, const SharedStats& stats, std::size_t file,
             std::uint64_t max_record_bytes, std::size_t threads) {
            if (threads == 0) throw nb::value_error("threads must be positive");
            const auto adds = [native = stats.native, file](const Chunk& chunk) { return native->add(chunk, file); };
            new (self) OpenCheckedRecords(
                std::make_shared<FileRecords>(path, BlockReaderOptions{true, max_record_bytes, threads}, adds));
          },
          nb::arg("path"), nb::arg("stats"), nb::arg("file"), nb::kw_only(), nb::arg("max_record_bytes"),
          nb::arg("threads"),
          nb::sig("def __init__(self, path: str | os.PathLike[str], stats: RecordStats, file: int, *, "
                  "max_record_bytes: int, threads: int) -> None"))
      .def(
          "next", [](OpenCheckedRecords& self) { return next_event(*self.get()); },
          nb::sig("def next(self) -> ValidRecords | RecordChunk | Fault | None"),
          "Return the next event, a chunk if one of its records does not decode; None at the end.")
      .def("close", [](OpenCheckedRecords& self) { self.close(); }, "End the threads and close the file.");
}

}  // namespace penstock::bindings
