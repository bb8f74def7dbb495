#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "bindings/bindings.h"
#include "core/chunk.h"
#include "core/example/value_digest.h"
#include "io/workers.h"

namespace penstock::bindings {
namespace {

enum class Compared : std::uint8_t { kSameBytes = 0, kSameValues = 1, kDifferent = 2 };

wire::Bytes payload(const Chunk& chunk, std::size_t i) {
  const Span span = chunk.span(i);
  return {chunk.buffer->data() + span.offset, static_cast<std::size_t>(span.length)};
}

bool same_bytes(wire::Bytes a, wire::Bytes b) {
  return a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0);
}

// Compares pairs of records. Those with other bytes are digested on several threads.
class RecordComparer {
 public:
  RecordComparer(std::uint64_t seed, std::size_t threads) : seed_(seed), workers_(std::max<std::size_t>(1, threads)) {}

  void compare(const Chunk& a, const Chunk& b, std::uint8_t* found) {
    std::vector<std::size_t> rows;
    for (std::size_t i = 0; i < a.size(); ++i) {
      found[i] = static_cast<std::uint8_t>(Compared::kSameBytes);
      if (!same_bytes(payload(a, i), payload(b, i))) rows.push_back(i);
    }
    if (rows.empty()) return;
    const std::size_t parts = std::min(workers_.threads(), (rows.size() + kRowsOfPart - 1) / kRowsOfPart);
    workers_.run(parts, [&](std::size_t part) {
      ExampleDigester digester({}, seed_);
      for (std::size_t n = rows.size() * part / parts; n < rows.size() * (part + 1) / parts; ++n) {
        const std::size_t i = rows[n];
        const bool same = digester.digest(payload(a, i)).values == digester.digest(payload(b, i)).values;
        found[i] = static_cast<std::uint8_t>(same ? Compared::kSameValues : Compared::kDifferent);
      }
    });
  }

 private:
  static constexpr std::size_t kRowsOfPart = 32;
  std::uint64_t seed_;
  Workers workers_;
};

nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>> compare_records(RecordComparer& comparer, const Chunk& a,
                                                                  const Chunk& b) {
  if (a.size() != b.size()) throw nb::value_error("chunks of equal length are compared");
  auto found = std::make_unique<std::uint8_t[]>(a.size() + 1);
  {
    const ReleasedGil release;
    comparer.compare(a, b, found.get());
  }
  std::uint8_t* data = found.release();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::uint8_t*>(p); });
  return {data, {a.size()}, owner};
}

// For each record: two words for its values, one for its bytes, two for the key (zero without it), and its number.
nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<2>> digest_records(const Chunk& chunk, nb::bytes key,
                                                                  std::uint64_t seed) {
  constexpr std::size_t kWords = 6;
  auto found = std::make_unique<std::uint64_t[]>(kWords * chunk.size() + 1);
  const std::string_view name(key.c_str(), key.size());
  {
    const ReleasedGil release;
    ExampleDigester digester(name, seed);
    std::uint64_t* out = found.get();
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      const ExampleDigest digest = digester.digest(payload(chunk, i));
      *out++ = digest.values.low;
      *out++ = digest.values.high;
      *out++ = digest_bytes(payload(chunk, i), seed).low;
      *out++ = digest.key.low;
      *out++ = digest.key.high;
      *out++ = chunk.first_record + i;
    }
  }
  std::uint64_t* data = found.release();
  nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::uint64_t*>(p); });
  return {data, {chunk.size(), kWords}, owner};
}

}  // namespace

void bind_compare_records(nb::module_& m) {
  nb::class_<RecordComparer>(m, "RecordComparer", "Compares records in pairs, by value.")
      .def(nb::init<std::uint64_t, std::size_t>(), nb::arg("seed"), nb::arg("threads"))
      .def("compare", &compare_records, nb::arg("a"), nb::arg("b"),
           nb::sig("def compare(self, a: RecordChunk, b: RecordChunk) -> NDArray[numpy.uint8]"),
           "Return for each pair: 0 the same bytes, 1 equal by value in other bytes, 2 different.");
  m.def(
      "digest_records", &digest_records, nb::arg("chunk"), nb::arg("key"), nb::arg("seed"),
      nb::sig("def digest_records(chunk: RecordChunk, key: bytes, seed: int) -> NDArray[numpy.uint64]"),
      "Return for each record 6 words: its values (2), its bytes, the feature ``key`` (2; 0 without it), its number.");
}

}  // namespace penstock::bindings
