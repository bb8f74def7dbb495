#include "io/header_walk.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>

#include <filesystem>
#include <vector>

#include "bindings/bindings.h"

namespace penstock::bindings {
namespace {

using Lengths = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>;

Lengths take_lengths(HeaderWalk& walk) {
  auto* lengths = new std::vector<std::uint64_t>(walk.take_lengths());
  const nb::capsule owner(lengths, [](void* p) noexcept { delete static_cast<std::vector<std::uint64_t>*>(p); });
  return Lengths(lengths->data(), {lengths->size()}, owner);
}

}  // namespace

void bind_header_walk(nb::module_& m) {
  nb::class_<HeaderWalk>(m, "HeaderWalk", "Walks a local plain file from header to header, on native threads.")
      .def(
          "__init__",
          [](HeaderWalk* self, const std::filesystem::path& path, std::uint64_t max_record_bytes, std::size_t threads,
             std::size_t piece_bytes, bool keep_lengths) {
            if (threads == 0 || piece_bytes == 0) throw nb::value_error("threads and piece_bytes must be positive");
            new (self) HeaderWalk(path, HeaderWalkOptions{max_record_bytes, threads, piece_bytes, keep_lengths});
          },
          nb::arg("path"), nb::kw_only(), nb::arg("max_record_bytes") = std::uint64_t{1} << 30, nb::arg("threads") = 1,
          nb::arg("piece_bytes") = std::size_t{2} << 20, nb::arg("keep_lengths") = false,
          nb::sig("def __init__(self, path: str | os.PathLike[str], *, max_record_bytes: int = 1073741824, threads: "
                  "int = 1, piece_bytes: int = 2097152, keep_lengths: bool = False) -> None"))
      .def("advance", &HeaderWalk::advance, nb::arg("bytes"), nb::call_guard<ReleasedGil>(),
           "Walk the frames that start in the next bytes; False if the end or a fault was reached.")
      .def("take_lengths", &take_lengths, nb::rv_policy::automatic,
           "Return the payload lengths since the last call, if they are kept.")
      .def_prop_ro("file_size", &HeaderWalk::file_size)
      .def_prop_ro("position", &HeaderWalk::position, "Where the next frame starts.")
      .def_prop_ro("records", &HeaderWalk::records, "Whole records so far.")
      .def_prop_ro(
          "fault", [](const HeaderWalk& walk) { return walk.fault(); },
          "What ended the walk early; its kind may be \"none\".");
}

}  // namespace penstock::bindings
