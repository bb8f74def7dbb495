#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings/bindings.h"
#include "core/crc32c/combine.h"
#include "core/crc32c/crc32c.h"

namespace penstock::bindings {
namespace {

const Crc32cKernel& kernel_named(const std::optional<std::string>& name) {
  const auto kernels = crc32c_kernels();
  if (!name) return kernels.front();
  for (const Crc32cKernel& kernel : kernels)
    if (*name == kernel.name) return kernel;
  throw nb::value_error(("no CRC32C kernel named " + *name + " runs on this CPU").c_str());
}

}  // namespace

void bind_checksums(nb::module_& m) {
  m.def(
      "crc32c_kernels",
      [] {
        std::vector<std::string> names;
        for (const Crc32cKernel& kernel : crc32c_kernels()) names.emplace_back(kernel.name);
        return names;
      },
      "Return the names of the CRC32C kernels that this CPU supports, the one in use first.");
  m.def(
      "crc32c",
      [](nb::handle data, std::uint32_t crc, const std::optional<std::string>& kernel) {
        const BytesView view(data);
        const Crc32cKernel& chosen = kernel_named(kernel);
        const ReleasedGil release;
        return chosen.extend(crc, view.bytes().data(), view.bytes().size());
      },
      nb::arg("data"), nb::arg("crc") = 0, nb::arg("kernel") = nb::none(),
      "CRC32C of a bytes-like object, continuing from ``crc``.");
  m.def(
      "crc32c_combine",
      [](std::uint32_t before, std::uint32_t rest, std::uint64_t size) {
        return crc32c_combine(before, rest, crc32c_power(size));
      },
      nb::arg("before"), nb::arg("rest"), nb::arg("size"),
      "Return the CRC32C of two byte strings joined, from that of each and the size of the second.");
  m.def("mask_crc", &mask_crc, nb::arg("crc"), "Mask a checksum as TFRecord stores it.");
}

}  // namespace penstock::bindings
