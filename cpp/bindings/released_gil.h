// Releases the GIL while native code runs.
//
// Like nb::gil_scoped_release, but safe while the interpreter ends. Up to Python 3.13, a thread that acquires the GIL
// then is unwound, which aborts the process if C++ is on its stack. Daemon threads may be in native calls at any time:
// here they block instead, as from Python 3.14 on.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::bindings {

class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  // Acquires the GIL again; does not return if the interpreter is ending on another thread.
  ~ReleasedGil();
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* state_;
};

// The reverse: acquires the GIL on a thread that may not have it. Like nb::gil_scoped_acquire, but safe as above.
class AcquiredGil {
 public:
  AcquiredGil();
  ~AcquiredGil() { PyGILState_Release(state_); }
  AcquiredGil(const AcquiredGil&) = delete;
  AcquiredGil& operator=(const AcquiredGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// Surrounds calls of Python from native code, by a thread that has the GIL and may lose it while they run. When the
// interpreter ends, it waits for such calls, and a thread that would start another one blocks without the GIL.
class PythonCallScope {
 public:
  PythonCallScope();
  ~PythonCallScope();
  PythonCallScope(const PythonCallScope&) = delete;
  PythonCallScope& operator=(const PythonCallScope&) = delete;
};

// Whether the interpreter is ending on another thread, so that this one must not acquire the GIL.
bool is_finalizing_elsewhere();

// Binds the function that announces the end of the interpreter.
void bind_finalization(nanobind::module_& m);

}  // namespace penstock::bindings
