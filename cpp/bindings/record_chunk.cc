#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/bindings.h"
#include "core/chunk.h"

namespace penstock::bindings {
namespace {

using ByteArray = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>;
using SpanArray = nb::ndarray<nb::numpy, const std::uint64_t, nb::ndim<2>>;

const char* name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::kNone:
      return "none";
    case FaultKind::kLengthChecksum:
      return "length-crc";
    case FaultKind::kDataChecksum:
      return "data-crc";
    case FaultKind::kTooLarge:
      return "too-large";
    case FaultKind::kTruncatedHeader:
      return "truncated-header";
    case FaultKind::kTruncatedRecord:
      return "truncated-record";
  }
  return "none";
}

PyObject* record_bytes(const Chunk& chunk, std::size_t i) {
  const Span span = chunk.span(i);
  return PyBytes_FromStringAndSize(reinterpret_cast<const char*>(chunk.buffer->data() + span.offset),
                                   static_cast<Py_ssize_t>(span.length));
}

// Iterates by type slots: a call through the binding layer for each record would cost as much as the record itself.
struct ChunkIterator {
  Chunk chunk;
  std::size_t next = 0;
};

PyObject* iterator_self(PyObject* self) {
  Py_INCREF(self);
  return self;
}

PyObject* iterator_next(PyObject* self) {
  ChunkIterator& it = *nb::inst_ptr<ChunkIterator>(self);
  if (it.next == it.chunk.size()) return nullptr;
  return record_bytes(it.chunk, it.next++);
}

PyType_Slot iterator_slots[] = {{Py_tp_iter, reinterpret_cast<void*>(iterator_self)},
                                {Py_tp_iternext, reinterpret_cast<void*>(iterator_next)},
                                {0, nullptr}};

constexpr const char* kChunkDoc = R"(A buffer and the records in it, without a Python object per record.

Example:
    >>> reader = ps.RecordReader("train-00000-of-00004.tfrecord")
    >>> chunk = next(reader.chunks())
    >>> len(chunk), chunk.first_record, type(chunk[0]).__name__
    (25, 0, 'bytes')
    >>> offset, length = chunk.spans[-1].tolist()
    >>> chunk.buffer[offset : offset + length].tobytes() == chunk[-1]
    True
    >>> some = chunk[3:5]  # shares the buffer
    >>> some.first_record, list(some) == [chunk[3], chunk[4]]
    (3, True)
    >>> some.frame_offset(0) == chunk.frame_offset(3)  # in the file
    True
    >>> chunk.source
    'train-00000-of-00004.tfrecord'
)";

// Keeps the memory of an array alive. Copying the chunk is cheap, since its buffer and spans are shared.
nb::capsule owner_of(const Chunk& chunk) {
  return nb::capsule(new Chunk(chunk), [](void* p) noexcept { delete static_cast<Chunk*>(p); });
}

nb::bytes record_at(const Chunk& chunk, Py_ssize_t i) {
  if (i < 0) i += static_cast<Py_ssize_t>(chunk.size());
  if (i < 0 || static_cast<std::size_t>(i) >= chunk.size()) throw nb::index_error("record index out of range");
  return nb::steal<nb::bytes>(record_bytes(chunk, static_cast<std::size_t>(i)));
}

Chunk sliced(const Chunk& chunk, nb::slice range) {
  const auto [start, stop, step, length] = range.compute(chunk.size());
  if (step != 1) throw nb::value_error("a chunk can only be sliced with step 1");
  return chunk.slice(static_cast<std::size_t>(start), static_cast<std::size_t>(start) + length);
}

Chunk chunk_from_records(nb::list records, const std::string& source, std::uint64_t first_record) {
  std::size_t total = 0;
  std::vector<std::unique_ptr<BytesView>> views;
  for (nb::handle record : records) {
    views.push_back(std::make_unique<BytesView>(record));
    total += views.back()->bytes().size();
  }
  auto buffer = std::make_shared<Buffer>(total == 0 ? 1 : total);
  auto spans = std::make_shared<std::vector<Span>>();
  std::size_t offset = 0;
  for (const auto& view : views) {
    const auto bytes = view->bytes();
    if (!bytes.empty()) std::memcpy(buffer->data() + offset, bytes.data(), bytes.size());
    spans->push_back({offset, bytes.size()});
    offset += bytes.size();
  }
  const std::size_t count = spans->size();
  // There is no file: assume a header before the first record, so that its offset is not negative.
  return Chunk{
      buffer, std::move(spans), 0, count, first_record, kHeaderBytes, std::make_shared<const std::string>(source)};
}

}  // namespace

void bind_record_chunk(nb::module_& m) {
  nb::class_<Fault>(m, "Fault", "What is wrong with a frame, and where.")
      .def_prop_ro(
          "kind", [](const Fault& f) { return name_of(f.kind); },
          "One of length-crc, data-crc, too-large, truncated-header, truncated-record, none.")
      .def_ro("offset", &Fault::offset, "Byte offset of the frame in the input.")
      .def_ro("record", &Fault::record, "Number of the frame in the input, from 0.")
      .def_ro("need", &Fault::need,
              "Bytes that the frame claims (too-large: its payload), or 0 if its header is unreadable.")
      .def_ro("have", &Fault::have, "Bytes of the input from the frame's start, as far as known.");

  nb::class_<ChunkIterator>(m, "_RecordIterator", nb::type_slots(iterator_slots),
                            "Iterates a chunk's records as bytes.");

  nb::class_<Chunk>(m, "RecordChunk", kChunkDoc)
      .def("__len__", &Chunk::size)
      .def("__getitem__", &record_at, nb::arg("index"), "One record as bytes.")
      .def("__getitem__", &sliced, nb::arg("index"), "A slice, which shares the buffer.")
      .def(
          "__iter__", [](const Chunk& chunk) { return ChunkIterator{chunk}; },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[bytes]"))
      .def_ro("first_record", &Chunk::first_record, "Number, in the input, of the first record.")
      .def_prop_ro(
          "source",
          [](const Chunk& chunk) {
            const std::string name = chunk.source ? *chunk.source : std::string();
            return nb::steal<nb::str>(
                PyUnicode_DecodeFSDefaultAndSize(name.data(), static_cast<Py_ssize_t>(name.size())));
          },
          "The input's name.")
      .def_prop_ro(
          "buffer",
          [](const Chunk& chunk) {
            return ByteArray(chunk.buffer->data(), {chunk.buffer->capacity()}, owner_of(chunk));
          },
          nb::rv_policy::automatic, "The memory of the records (read-only), valid while the array exists.")
      .def_prop_ro(
          "spans",
          [](const Chunk& chunk) {
            return SpanArray(chunk.spans->data() + chunk.begin, {chunk.size(), 2}, owner_of(chunk));
          },
          nb::rv_policy::automatic, "Array [n, 2]: offset in ``buffer`` and length of each payload.")
      .def(
          "frame_offset",
          [](const Chunk& chunk, std::size_t i) {
            if (i >= chunk.size()) throw nb::index_error("record index out of range");
            return chunk.frame_offset(i);
          },
          nb::arg("index"), "Byte offset, in the input, of a record's frame.");

  m.def("chunk_from_records", &chunk_from_records, nb::arg("records"), nb::arg("source") = "",
        nb::arg("first_record") = 0,
        nb::sig("def chunk_from_records(records: list[typing.Any], source: str = \"\", "
                "first_record: int = 0) -> RecordChunk"),
        "Copy consecutive records of an input into a chunk.");
}

}  // namespace penstock::bindings
