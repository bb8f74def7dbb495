#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <memory>

#include "bindings/bindings.h"
#include "bindings/decoder.h"
#include "bindings/plain_piece.h"
#include "core/stream_records.h"
#include "io/file.h"
#include "io/file_records.h"

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

// Iteration by slots: a call through the binding layer for each record would cost as much as the record itself.
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

// Keeps the memory of an array alive: a copy of the chunk is cheap, it shares its buffer and spans.
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
  if (step != 1) throw nb::value_error("a chunk is sliced with step 1");
  return chunk.slice(static_cast<std::size_t>(start), static_cast<std::size_t>(start) + length);
}

void bind_chunk(nb::module_& m) {
  nb::class_<Fault>(m, "Fault", "What is wrong with a frame, and where.")
      .def_prop_ro(
          "kind", [](const Fault& f) { return name_of(f.kind); },
          "One of length-crc, data-crc, too-large, truncated-header, truncated-record, none.")
      .def_ro("offset", &Fault::offset, "Byte offset of the frame in the input.")
      .def_ro("record", &Fault::record, "Number of the frame in the input, from 0.")
      .def_ro("need", &Fault::need,
              "Bytes that the frame claims (too-large: its payload), or 0 where its header is unreadable.")
      .def_ro("have", &Fault::have, "Bytes that the input has from the frame's start, as far as they are known.");

  nb::class_<ChunkIterator>(m, "_RecordIterator", nb::type_slots(iterator_slots),
                            "Iterates a chunk's records as bytes.");

  nb::class_<Chunk>(m, "RecordChunk", "A buffer and the records in it, without a Python object per record.")
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
          nb::rv_policy::automatic,
          "The memory that the records lie in (read-only); it stays valid while the array lives.")
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
}

nb::object next_event(FileRecords& records) {
  NextEvent event;
  wait_for([&](auto patience) {
    event = records.next(patience);
    return !std::holds_alternative<NotYet>(event);
  });
  if (auto* chunk = std::get_if<Chunk>(&event)) return nb::cast(std::move(*chunk));
  if (auto* fault = std::get_if<Fault>(&event)) return nb::cast(*fault);
  if (auto* sound = std::get_if<Sound>(&event)) return nb::cast(*sound);
  return nb::none();
}

using OpenFileRecords = Closable<FileRecords>;

// A class of its own to Python: its events are others.
struct OpenCheckedRecords : Closable<FileRecords> {
  using Closable::Closable;
};

}  // namespace

void bind_reading(nb::module_& m) {
  bind_chunk(m);

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
          nb::sig("def next(self) -> RecordChunk | Fault | None"), "The next chunk or fault, or None at the end.")
      .def("close", &OpenFileRecords::close, "End the threads and close the file.");

  nb::class_<Sound>(m, "Sound", "Records that were decoded and let go of.")
      .def_ro("records", &Sound::records)
      .def_ro("bytes", &Sound::bytes, "Of their frames.")
      .def_ro("crc32c", &Sound::crc32c, "Of their frames, if the reader computes it; else 0.");

  nb::class_<OpenCheckedRecords>(m, "CheckedRecords",
                                 "Reads and decodes a local file's records, and lets go of those that decode.")
      .def(
          "__init__",
          [](OpenCheckedRecords* self, const std::filesystem::path& path, const Decoder& decoder,
             std::uint64_t max_record_bytes, std::size_t threads, std::size_t block_bytes, bool checksum) {
            if (threads == 0 || block_bytes < 64) throw nb::value_error("threads and block_bytes must be positive");
            BlockReaderOptions options{true, max_record_bytes, threads, block_bytes};
            // Files that are checked are seldom in memory, and a disk is quicker with large reads.
            options.slice_bytes = block_bytes;
            new (self) OpenCheckedRecords(std::make_shared<FileRecords>(path, options, decoder.native(), checksum));
          },
          nb::arg("path"), nb::arg("decoder"), nb::kw_only(), nb::arg("max_record_bytes") = std::uint64_t{1} << 30,
          nb::arg("threads") = 1, nb::arg("block_bytes") = std::size_t{1} << 20, nb::arg("checksum") = false,
          nb::sig("def __init__(self, path: str | os.PathLike[str], decoder: NativeDecoder, *, max_record_bytes: int "
                  "= 1073741824, threads: int = 1, block_bytes: int = 1048576, checksum: bool = False) -> None"))
      .def(
          "next", [](OpenCheckedRecords& self) { return next_event(*self.get()); },
          nb::sig("def next(self) -> Sound | RecordChunk | Fault | None"),
          "What comes next, a chunk where one of its records does not decode; None at the end.")
      .def("close", [](OpenCheckedRecords& self) { self.close(); }, "End the threads and close the file.");

  nb::class_<StreamRecords>(m, "StreamRecords", "Finds records in a stream that is pushed in pieces of any size.")
      .def(
          "__init__",
          [](StreamRecords* self, bool verify, std::uint64_t max_record_bytes, std::optional<std::uint64_t> input_end,
             std::uint64_t start_offset, std::uint64_t start_record, const std::filesystem::path& source) {
            new (self) StreamRecords(AssemblerOptions{max_record_bytes, input_end, start_offset, start_record,
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
            if (PlainPiece* plain; nb::try_cast(data, plain) && plain != nullptr) piece = plain->take();
            if (piece) {
              const ReleasedGil release;
              return self.take(piece->buffer, piece->begin, piece->end);
            }
            const BytesView view(data);
            const ReleasedGil release;
            return self.feed(view.bytes());
          },
          nb::arg("data"), "Take more of the stream in, as a copy unless it is a PlainPiece; answer what it completes.")
      .def("finish", &StreamRecords::finish, "End the stream; a record that is still incomplete is a fault.")
      .def_prop_ro("record", &StreamRecords::record, "Number of the record that comes next.")
      .def_prop_ro("offset", &StreamRecords::offset, "Byte offset of the record that comes next.");

  m.def(
      "find_header",
      [](nb::handle data, std::size_t start) {
        const BytesView view(data);
        const ReleasedGil release;
        return find_header(view.bytes(), start);
      },
      nb::arg("data"), nb::arg("start") = 0, "First position where a frame header checks itself, or ``len(data)``.");
}

}  // namespace penstock::bindings
