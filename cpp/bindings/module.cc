// The native module: each part binds itself.
#include <nanobind/nanobind.h>

#include <system_error>

#include "bindings/bindings.h"
#include "io/file.h"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  m.doc() = "The native core of Penstock: frames, checksums, and reading ahead on threads.";

  // At exit, Python drops objects in any order: a writer that a signal handler still holds is not a leak worth
  // reporting.
  nb::set_leak_warnings(false);

  // Operating-system errors become OSError, so that Python picks the subclass; if the path is not known here, the
  // caller adds it.
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const penstock::FileError& e) {
      const nb::object path = nb::steal(PyUnicode_DecodeFSDefault(e.path().c_str()));
      const nb::object error = nb::borrow(PyExc_OSError)(e.code().value(), e.what(), path);
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    } catch (const std::system_error& e) {
      const nb::object error = nb::borrow(PyExc_OSError)(e.code().value(), e.what());
      PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
    }
  });

  penstock::bindings::bind_arrow(m);
  penstock::bindings::bind_finalization(m);
  penstock::bindings::bind_checksums(m);
  penstock::bindings::bind_byte_views(m);
  penstock::bindings::bind_inflate(m);
  penstock::bindings::bind_record_chunk(m);
  penstock::bindings::bind_stream_records(m);
  penstock::bindings::bind_record_pool(m);
  penstock::bindings::bind_salvage_scan(m);
  penstock::bindings::bind_frame_buffer(m);
  penstock::bindings::bind_file_writer(m);
  penstock::bindings::bind_decoded_columns(m);
  penstock::bindings::bind_decoder(m);
  penstock::bindings::bind_decode_queue(m);
  penstock::bindings::bind_record_stats(m);
  penstock::bindings::bind_file_records(m);
  penstock::bindings::bind_file_batches(m);
  penstock::bindings::bind_encoder(m);
  penstock::bindings::bind_entry_rewrite(m);
  penstock::bindings::bind_image_decoder(m);
  penstock::bindings::bind_record_fetcher(m);
  penstock::bindings::bind_row_gatherer(m);
  penstock::bindings::bind_header_walk(m);
  penstock::bindings::bind_peek_example(m);
  penstock::bindings::bind_compare_records(m);
  penstock::bindings::bind_permutation(m);
  penstock::bindings::bind_key_hashes(m);
  penstock::bindings::bind_picture_transformer(m);
  penstock::bindings::bind_value_reader(m);
  penstock::bindings::bind_statistics(m);
}
