#include "core/record_pool.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"

namespace penstock::bindings {

using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void bind_record_pool(nb::module_& m) {
  nb::class_<RecordPool>(m, "RecordPool", "The records of several chunks under consecutive numbers.")
      .def(nb::init<std::vector<Chunk>>(), nb::arg("chunks"),
           nb::sig("def __init__(self, chunks: list[RecordChunk]) -> None"))
      .def("__len__", &RecordPool::size)
      .def(
          "take",
          [](const RecordPool& self, const Numbers& records) {
            const ReleasedGil release;
            return self.take({records.data(), records.shape(0)});
          },
          nb::arg("records"), nb::sig("def take(self, records: NDArray[numpy.int64]) -> RecordChunk"),
          "Copy records into a new chunk, in the given order.");
}

}  // namespace penstock::bindings
