#include "core/stream_records.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "bindings/bindings.h"
#include "bindings/inflated_piece.h"
#include "io/file.h"

namespace penstock::bindings {

void bind_stream_records(nb::module_& m) {
  nb::class_<StreamRecords>(m, "StreamRecords", "Finds records in a stream that is pushed in pieces of any size.")
      .def(
          "__init__",
          [](StreamRecords* self, bool verify, std::uint64_t max_record_bytes, std::optional<std::uint64_t> input_end,
             std::uint64_t start_offset, std::uint64_t start_record, const std::filesystem::path& source) {
            new (self)
                StreamRecords(ChunkAssemblerOptions{max_record_bytes, input_end, start_offset, start_record,
                                                    std::make_shared<const std::string>(text_of(source)), verify});
          },
          nb::kw_only(), nb::arg("verify") = true, nb::arg("max_record_bytes") = std::uint64_t{1} << 30,
          nb::arg("input_end") = nb::none(), nb::arg("start_offset") = 0, nb::arg("start_record") = 0,
          nb::arg("source") = std::filesystem::path(),
          nb::sig(
              "def __init__(self, *, verify: bool = True, max_record_bytes: int = 1073741824, input_end: int | None "
              "= None, start_offset: int = 0, start_record: int = 0, source: str = \"\") -> None"))
      .def(
          "feed",
          [](StreamRecords& self, nb::handle data) {
            std::optional<inflate::Piece> piece;
            if (InflatedPiece* plain; nb::try_cast(data, plain) && plain != nullptr) piece = plain->take();
            if (piece) {
              const ReleasedGil release;
              return self.take(piece->buffer, piece->begin, piece->end);
            }
            const BytesView view(data);
            const ReleasedGil release;
            return self.feed(view.bytes());
          },
          nb::arg("data"), "Add data, copied unless it is a InflatedPiece; return the records that it completes.")
      .def("finish", &StreamRecords::finish, "End the stream; a record that is still incomplete is a fault.")
      .def_prop_ro("record", &StreamRecords::record, "Number of the next record.")
      .def_prop_ro("offset", &StreamRecords::offset, "Byte offset of the next record.");

  m.def(
      "find_header",
      [](nb::handle data, std::size_t start) {
        const BytesView view(data);
        const ReleasedGil release;
        return find_header(view.bytes(), start);
      },
      nb::arg("data"), nb::arg("start") = 0, "Return the first position with a valid frame header, or ``len(data)``.");
}

}  // namespace penstock::bindings
