#include "io/value_reader.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "bindings/decoded_columns.h"
#include "bindings/dtypes.h"
#include "core/example/row_values.h"
#include "core/example/value_locations.h"

namespace penstock::bindings {
namespace {

template <typename T>
using Numbers = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
nb::object to_array(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

const char* name_of(LocateFaultKind kind) {
  switch (kind) {
    case LocateFaultKind::kMalformed:
      return "malformed";
    case LocateFaultKind::kWrongKind:
      return "wrong-kind";
    case LocateFaultKind::kNotDivided:
      return "not-divided";
    case LocateFaultKind::kScattered:
      return "scattered";
  }
  return "malformed";
}

nb::object locate(const Chunk& chunk, const std::vector<std::pair<std::string, std::size_t>>& requested) {
  std::vector<LocatedFeature> features;
  for (const auto& [key, float_bytes] : requested) {
    if (float_bytes % 4 != 0) throw nb::value_error("a float has four bytes");
    features.push_back({key, float_bytes});
  }
  std::vector<ValueLocations> found(features.size());
  std::optional<LocateFault> fault;
  {
    const ReleasedGil release;
    fault = locate_values(chunk, features, found);
  }
  if (fault) return nb::make_tuple(name_of(fault->kind), fault->record, fault->feature);
  nb::list all;
  for (ValueLocations& values : found)
    all.append(nb::make_tuple(to_array(std::move(values.counts)), to_array(std::move(values.offsets)),
                              to_array(std::move(values.lengths)), to_array(std::move(values.checksums))));
  return all;
}

nb::object read(ValueReader& reader, std::size_t paths, const Numbers<std::int64_t>& files,
                const Numbers<std::uint64_t>& offsets, const Numbers<std::uint64_t>& lengths,
                const Numbers<std::uint32_t>& checksums) {
  const std::size_t count = files.shape(0);
  if (offsets.shape(0) != count || lengths.shape(0) != count || checksums.shape(0) != count)
    throw nb::value_error("files, offsets, lengths and checksums must be of one size");
  if (count > std::numeric_limits<std::uint32_t>::max()) throw nb::value_error("too many values for one call");
  for (std::size_t i = 0; i < count; ++i)
    if (files.data()[i] < 0 || static_cast<std::uint64_t>(files.data()[i]) >= paths)
      throw nb::index_error("there is no such file");
  ReadValues found;
  SharedBuffer views;
  bool is_too_large = false;
  {
    const ReleasedGil release;
    std::vector<StoredValue> values(count);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = {static_cast<std::size_t>(files.data()[i]), offsets.data()[i], lengths.data()[i],
                   checksums.data()[i]};
    found = reader.read(values);
    if (found.fault == ValueFault::kNone) {
      views = acquire_buffer(std::max<std::size_t>(1, 16 * count));
      const std::byte* base = found.buffer->data();
      // A view addresses 2 GiB.
      constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
      for (std::size_t i = 0; i < count && !is_too_large; ++i) {
        const auto length = static_cast<std::size_t>(values[i].length);
        is_too_large = found.starts[i] > kMost || length > kMost - found.starts[i];
        if (!is_too_large) write_view(views->data() + 16 * i, {base + found.starts[i], length}, {base, 0});
      }
    }
  }
  if (found.fault != ValueFault::kNone)
    return nb::make_tuple(found.fault == ValueFault::kTruncated ? "truncated" : "checksum", found.bad);
  if (is_too_large) throw nb::value_error("the values are larger than 2 GiB together: read fewer at a time");
  const std::size_t shape[] = {count, 4}, bytes[] = {found.buffer->capacity()};
  return nb::make_tuple(array_of(views, 2, shape, kViewElement.type),
                        array_of(found.buffer, 1, bytes, type_of(Code::UInt, 8)));
}

class BoundReader {
 public:
  BoundReader(std::vector<std::filesystem::path> paths, std::size_t threads, std::size_t max_open)
      : paths_(paths.size()), reader_(std::move(paths), threads, max_open) {}

  nb::object read(const Numbers<std::int64_t>& files, const Numbers<std::uint64_t>& offsets,
                  const Numbers<std::uint64_t>& lengths, const Numbers<std::uint32_t>& checksums) {
    return bindings::read(reader_, paths_, files, offsets, lengths, checksums);
  }

 private:
  std::size_t paths_;
  ValueReader reader_;
};

}  // namespace

void bind_value_reader(nb::module_& m) {
  m.def("locate_values", &locate, nb::arg("chunk"), nb::arg("features"),
        nb::sig("def locate_values(chunk: RecordChunk, features: Sequence[tuple[str, int]]) -> "
                "list[tuple[NDArray[numpy.uint64], NDArray[numpy.uint64], NDArray[numpy.uint64], "
                "NDArray[numpy.uint32]]] | tuple[str, int, int]"),
        "Find where the values of features lie in the Examples of a chunk.\n\n"
        "A feature is its key and the bytes of one value of a list of floats, or 0 for byte strings. Returns for each "
        "feature how many values each record has, and the offset, length and CRC32C of each; or what is wrong, and the "
        "numbers of the record and the feature.");
  nb::class_<BoundReader>(m, "ValueReader", "Reads single values out of the records of files, on threads.")
      .def(nb::init<std::vector<std::filesystem::path>, std::size_t, std::size_t>(), nb::arg("paths"), nb::kw_only(),
           nb::arg("threads"), nb::arg("max_open_files") = 64,
           nb::sig("def __init__(self, paths: Sequence[str | os.PathLike[str]], *, threads: int, "
                   "max_open_files: int = 64) -> None"))
      .def("read", &BoundReader::read, nb::arg("files"), nb::arg("offsets"), nb::arg("lengths"), nb::arg("checksums"),
           nb::sig("def read(self, files: NDArray[numpy.int64], offsets: NDArray[numpy.uint64], lengths: "
                   "NDArray[numpy.uint64], checksums: NDArray[numpy.uint32]) -> tuple[NDArray[numpy.int32], "
                   "NDArray[numpy.uint8]] | tuple[str, int]"),
           "Return views of the values and the buffer that they point into; or what is wrong with the first bad value, "
           "and its number.");
}

}  // namespace penstock::bindings
