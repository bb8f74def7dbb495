// Shared by the binding files. Bindings are thin: check arguments, release the GIL, call, turn errors into exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "bindings/released_gil.h"

namespace penstock::bindings {

namespace nb = nanobind;

void bind_arrow(nb::module_& m);
void bind_byte_views(nb::module_& m);
void bind_checksums(nb::module_& m);
void bind_compare_records(nb::module_& m);
void bind_decode_queue(nb::module_& m);
void bind_decoded_columns(nb::module_& m);
void bind_decoder(nb::module_& m);
void bind_encoder(nb::module_& m);
void bind_entry_rewrite(nb::module_& m);
void bind_file_batches(nb::module_& m);
void bind_file_records(nb::module_& m);
void bind_file_writer(nb::module_& m);
void bind_frame_buffer(nb::module_& m);
void bind_header_walk(nb::module_& m);
void bind_image_decoder(nb::module_& m);
void bind_inflate(nb::module_& m);
void bind_key_hashes(nb::module_& m);
void bind_peek_example(nb::module_& m);
void bind_permutation(nb::module_& m);
void bind_picture_transformer(nb::module_& m);
void bind_record_chunk(nb::module_& m);
void bind_record_fetcher(nb::module_& m);
void bind_record_pool(nb::module_& m);
void bind_record_stats(nb::module_& m);
void bind_row_gatherer(nb::module_& m);
void bind_salvage_scan(nb::module_& m);
void bind_statistics(nb::module_& m);
void bind_stream_records(nb::module_& m);
void bind_value_reader(nb::module_& m);

// A bytes-like argument, held for the lifetime of this object.
class BytesView {
 public:
  explicit BytesView(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~BytesView() { PyBuffer_Release(&view_); }
  BytesView(const BytesView&) = delete;
  BytesView& operator=(const BytesView&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_;
};

// Calls `attempt` without the GIL, with the time that it may take, until it returns true. Ctrl-C ends the wait.
template <typename Attempt>
void wait_for(Attempt attempt) {
  for (;;) {
    {
      const ReleasedGil release;
      if (attempt(std::chrono::milliseconds(100))) return;
    }
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

// An object with threads, until Python closes it. Destroying it waits for the threads, which must not happen under the
// GIL. A running call holds a reference, so another thread, or a signal handler during the call, may close it.
template <typename T>
class Closable {
 public:
  explicit Closable(std::shared_ptr<T> open) : open_(std::move(open)) {}
  Closable(const Closable&) = delete;
  Closable& operator=(const Closable&) = delete;
  ~Closable() { close(); }

  std::shared_ptr<T> get() const {
    if (!open_) throw nb::value_error("used after it was closed");
    return open_;
  }
  // Returns the open object, or nullptr; the caller must destroy it without the GIL.
  std::shared_ptr<T> take() { return std::exchange(open_, nullptr); }
  void close() {
    std::shared_ptr<T> last = take();
    if (!last) return;
    const ReleasedGil release;
    last.reset();
  }

 private:
  std::shared_ptr<T> open_;
};

}  // namespace penstock::bindings
