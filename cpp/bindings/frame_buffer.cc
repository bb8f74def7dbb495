#include "bindings/frame_buffer.h"

#include <nanobind/ndarray.h>

#include <cstring>
#include <exception>
#include <span>
#include <vector>

#include "bindings/bindings.h"
#include "core/chunk.h"
#include "core/frame.h"

namespace penstock::bindings {
namespace {

using Payload = std::span<const std::byte>;

Payload payload_of(PyObject* bytes) {
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0) throw nb::python_error();
  return {reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
}

std::size_t append(GuardedFrames& guarded, nb::handle record) {
  if (PyBytes_CheckExact(record.ptr())) {
    guarded.get().append(payload_of(record.ptr()));
  } else {
    const BytesView view(record);  // may run Python code, so get the frames afterwards
    guarded.get().append(view.bytes());
  }
  return guarded.get().size();
}

// Holds the memory of many records while the GIL is released: bytes, which are immutable, by a reference; anything else
// by a view, which costs more.
class HeldRecords {
 public:
  ~HeldRecords() {
    for (Py_buffer& view : views_) PyBuffer_Release(&view);
  }
  // Returns the size of the record.
  std::size_t add(nb::handle record) {
    if (PyBytes_CheckExact(record.ptr())) {
      payloads_.push_back(payload_of(record.ptr()));
      owners_.push_back(nb::borrow(record));
    } else {
      views_.emplace_back();
      if (PyObject_GetBuffer(record.ptr(), &views_.back(), PyBUF_SIMPLE) != 0) {
        views_.pop_back();
        throw nb::python_error();
      }
      const Py_buffer& view = views_.back();
      payloads_.emplace_back(static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len));
    }
    return payloads_.back().size();
  }
  void append_to(FrameBuffer& frames) const {
    for (const Payload payload : payloads_) frames.append(payload);
  }

 private:
  std::vector<Payload> payloads_;
  std::vector<nb::object> owners_;
  std::vector<Py_buffer> views_;
};

std::size_t extend(GuardedFrames& frames, nb::list records, std::size_t start, std::size_t limit) {
  HeldRecords many;
  std::size_t i = start, bytes = frames.get().size();
  std::exception_ptr refused;
  for (; i < records.size() && bytes < limit && !refused; ++i) {
    try {
      bytes += kFrameOverhead + many.add(nb::object(records[i]));
    } catch (const nb::python_error&) {
      refused = std::current_exception();
    }
  }
  frames.alone([&](FrameBuffer& mine) { many.append_to(mine); });
  // The records before an invalid one are written, as if they had come one by one.
  if (refused) std::rethrow_exception(refused);
  return i;
}

void append_records(GuardedFrames& frames, const Chunk& chunk,
                    nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> records) {
  const std::span<const std::int64_t> numbers(records.data(), records.size());
  for (const std::int64_t number : numbers)
    if (number < 0 || static_cast<std::size_t>(number) >= chunk.size()) throw nb::index_error("no such record");
  frames.alone([&](FrameBuffer& mine) {
    for (const std::int64_t number : numbers) {
      const Span span = chunk.span(static_cast<std::size_t>(number));
      mine.append({chunk.buffer->data() + span.offset, static_cast<std::size_t>(span.length)});
    }
  });
}

}  // namespace

void bind_frame_buffer(nb::module_& m) {
  nb::class_<GuardedFrames>(m, "FrameBuffer", "Output frames, for one thread at a time.")
      .def(nb::init<std::size_t>(), nb::arg("usual") = std::size_t{1} << 20,
           "Frames that are taken at about ``usual`` bytes.")
      .def(
          "__len__", [](GuardedFrames& frames) { return frames.get().size(); }, "Bytes of all frames.")
      .def_prop_ro(
          "count", [](GuardedFrames& frames) { return frames.get().count(); }, "Frames in the buffer.")
      .def("append", &append, nb::arg("record").none(), nb::sig("def append(self, record: object) -> int"),
           "Frame one bytes-like record; return the bytes of all frames.")
      .def("extend", &extend, nb::arg("records"), nb::arg("start"), nb::arg("limit"),
           nb::sig("def extend(self, records: list[typing.Any], start: int, limit: int) -> int"),
           "Frame records[start:] until the frames have ``limit`` bytes; return the index of the first one left.")
      .def("append_records", &append_records, nb::arg("chunk"), nb::arg("records"),
           nb::sig("def append_records(self, chunk: RecordChunk, records: NDArray[numpy.int64]) -> None"),
           "Frame records of a chunk, by their index in it.")
      .def(
          "crc32c",
          [](GuardedFrames& guarded, std::uint32_t crc) {
            guarded.alone([&](FrameBuffer& frames) { crc = crc32c_of_frames(crc, frames.bytes()); });
            return crc;
          },
          nb::arg("crc") = 0, "CRC32C of the bytes of all frames, continuing from ``crc``.")
      .def(
          "take",
          [](GuardedFrames& guarded) {
            const std::size_t size = guarded.get().size();
            nb::object taken = nb::steal(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size)));
            if (!taken.is_valid()) throw nb::python_error();
            auto* out = PyBytes_AsString(taken.ptr());
            // Other threads run meanwhile: half of the time goes into fresh pages.
            guarded.alone([&](FrameBuffer& frames) {
              if (size != 0) std::memcpy(out, frames.bytes().data(), size);
            });
            guarded.get().release();
            return nb::borrow<nb::bytes>(taken);
          },
          "Return the frames' bytes and clear the buffer.");
}

}  // namespace penstock::bindings
