#include "io/file_batches.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/decoder.h"

namespace penstock::bindings {
namespace {

using PositionTuple = std::tuple<std::size_t, std::uint64_t, std::uint64_t>;

PositionTuple tuple_of(const FilePosition& position) { return {position.file, position.offset, position.record}; }

struct OpenBatches : Closable<FileBatches> {
  OpenBatches(std::shared_ptr<FileBatches> batches, const Decoder& used)
      : Closable(std::move(batches)), features(used.features()) {}
  const BoundFeatures features;
};

nb::object next_batch(OpenBatches& self) {
  NextBatch next;
  const std::shared_ptr<FileBatches> batches = self.get();
  wait_for([&](auto timeout) {
    next = batches->next(timeout);
    return !std::holds_alternative<NotYet>(next);
  });
  if (auto* batch = std::get_if<DecodedBatch>(&next)) return nb::cast(DecodedColumns(self.features, std::move(*batch)));
  if (const auto* fault = std::get_if<FaultInFile>(&next)) return nb::cast(*fault);
  return nb::none();
}

}  // namespace

void bind_file_batches(nb::module_& m) {
  nb::exception<NotMembers>(m, "NotMembers", PyExc_ValueError);
  nb::class_<FaultInFile>(m, "FaultInFile", "A fault in one of several files.")
      .def_ro("file", &FaultInFile::file, "Index of the file.")
      .def_ro("fault", &FaultInFile::fault);

  nb::class_<OpenBatches>(m, "FileBatches", "Reads, checks and decodes local files on native threads.")
      .def(
          "__init__",
          [](OpenBatches* self, std::vector<std::filesystem::path> paths, const Decoder& decoder,
             std::size_t batch_rows, bool verify, std::uint64_t max_record_bytes, std::size_t threads,
             std::size_t block_bytes, PositionTuple start, std::optional<std::uint64_t> rows, bool members) {
            if (threads == 0 || block_bytes < 64 || batch_rows == 0)
              throw nb::value_error("threads, block_bytes and batch_rows must be positive");
            const auto [file, offset, record] = start;
            BlockReaderOptions options{verify,
                                       max_record_bytes,
                                       threads,
                                       block_bytes,
                                       FilePosition{file, offset, record},
                                       rows.value_or(std::numeric_limits<std::uint64_t>::max())};
            options.members = members;
            new (self) OpenBatches(
                std::make_shared<FileBatches>(std::move(paths), decoder.native(), batch_rows, options), decoder);
          },
          nb::arg("paths"), nb::arg("decoder"), nb::arg("batch_rows"), nb::kw_only(), nb::arg("verify") = true,
          nb::arg("max_record_bytes") = std::uint64_t{1} << 30, nb::arg("threads") = 1,
          nb::arg("block_bytes") = std::size_t{1} << 18, nb::arg("start") = PositionTuple{},
          nb::arg("rows") = nb::none(), nb::arg("members") = false,
          nb::sig("def __init__(self, paths: collections.abc.Sequence[str | os.PathLike[str]], decoder: NativeDecoder, "
                  "batch_rows: int, *, verify: bool = True, max_record_bytes: int = 1073741824, threads: int = 1, "
                  "block_bytes: int = 262144, start: tuple[int, int, int] = (0, 0, 0), rows: int | None = None, "
                  "members: bool = False) -> None"),
          "``members`` are gzip members that state their sizes; anything else in the files raises NotMembers.")
      .def("next", &next_batch, nb::sig("def next(self) -> DecodedColumns | FaultInFile | None"),
           "Return the next batch, the fault that ends the stream, or None at its end.")
      .def_prop_ro(
          "position", [](const OpenBatches& self) { return tuple_of(self.get()->position()); },
          "(file, offset, record) after the last valid batch that was returned.")
      .def_prop_ro(
          "start", [](const OpenBatches& self) { return tuple_of(self.get()->position_of(0)); },
          "(file, offset, record) of the first row of the last batch, valid or not.")
      .def(
          "position_of",
          [](const OpenBatches& self, std::size_t row) {
            const FilePosition position = self.get()->position_of(row);
            return std::pair{position.file, position.record};
          },
          nb::arg("row"), "(file, record) of a row of the batch that was given last.")
      .def("close", [](OpenBatches& self) { self.close(); }, "End the threads and close the files.");
}

}  // namespace penstock::bindings
