// The GIL, given away while native code works.
//
// As nb::gil_scoped_release, but for the end of the interpreter. Up to Python 3.13, a thread that asks for the GIL then
// is unwound, and where C++ is on its stack the process aborts. The daemon threads of a program are in a call of ours
// at any time: they stay in it, as from Python 3.14 on.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::bindings {

class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  // Takes the GIL back; does not return where the interpreter ends on another thread.
  ~ReleasedGil();
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* state_;
};

// The reverse: the GIL, on a thread that may not have it. As nb::gil_scoped_acquire, and at the end as above.
class AcquiredGil {
 public:
  AcquiredGil();
  ~AcquiredGil() { PyGILState_Release(state_); }
  AcquiredGil(const AcquiredGil&) = delete;
  AcquiredGil& operator=(const AcquiredGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// Around calls of Python from native code, by a thread that has the GIL and loses it at any time while they run. Where
// the interpreter ends, such calls are waited for, and a thread that would begin another one stays, without the GIL.
class PythonCallScope {
 public:
  PythonCallScope();
  ~PythonCallScope();
  PythonCallScope(const PythonCallScope&) = delete;
  PythonCallScope& operator=(const PythonCallScope&) = delete;
};

// Whether the interpreter ends on another thread, so that this one must not ask for the GIL.
bool is_finalizing_elsewhere();

// Gives Python the function that tells of the end of the interpreter.
void bind_finalization(nanobind::module_& m);

}  // namespace penstock::bindings
