// The native module: each part binds itself.
#include <nanobind/nanobind.h>

#include <system_error>

#include "bindings/bindings.h"
#include "io/file.h"

namespace nb = nanobind;

NB_MODULE(_core, m) {
  m.doc() = "The native core of Penstock: frames, checksums, and reading ahead on threads.";

  // At exit, Python drops objects in no order: a writer that a signal handler still holds is no leak to report to
  // users.
  nb::set_leak_warnings(false);

  // Operating-system errors become OSError, so that Python picks the subclass; where the path is not known here, the
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
  penstock::bindings::bind_the_end(m);
  penstock::bindings::bind_checksums(m);
  penstock::bindings::bind_columns(m);
  penstock::bindings::bind_inflating(m);
  penstock::bindings::bind_reading(m);
  penstock::bindings::bind_record_pool(m);
  penstock::bindings::bind_surveying(m);
  penstock::bindings::bind_writing(m);
  penstock::bindings::bind_decoding(m);
  penstock::bindings::bind_file_batches(m);
  penstock::bindings::bind_encoding(m);
  penstock::bindings::bind_fetching(m);
  penstock::bindings::bind_gathering(m);
  penstock::bindings::bind_indexing(m);
  penstock::bindings::bind_inspecting(m);
  penstock::bindings::bind_ordering(m);
}
