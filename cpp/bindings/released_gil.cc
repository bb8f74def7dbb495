#include "bindings/released_gil.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "io/process.h"

namespace penstock::bindings {
namespace {

namespace nb = nanobind;

std::atomic<bool> ending = false;
std::thread::id last_thread;  // with `ending`
std::atomic<int> coming_back = 0;
ProcessId counted_in = 0;  // a forked child has none of the threads that were on their way

constexpr std::chrono::milliseconds kStep{1};
constexpr int kMaxSteps = 1000;

// Called by Python while threads still may have the GIL, on the one that ends the interpreter.
void begin_finalization() {
  last_thread = std::this_thread::get_id();
  ending = true;
  const ReleasedGil release;
  // Those who ask for the GIL already get it now.
  if (counted_in == current_process())
    for (int i = 0; i < kMaxSteps && coming_back != 0; ++i) std::this_thread::sleep_for(kStep);
}

// Counts a thread that will ask for the GIL; tells whether it must not, and then it is not counted.
bool must_stay() {
  // Counted before it looks: begin_finalization() says so before it counts.
  ++coming_back;
  if (!is_finalizing_elsewhere()) return false;
  --coming_back;
  return true;
}

[[noreturn]] void stay() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

bool is_finalizing_elsewhere() { return ending && std::this_thread::get_id() != last_thread; }

ReleasedGil::~ReleasedGil() {
  if (must_stay()) stay();
  PyEval_RestoreThread(state_);
  --coming_back;
}

AcquiredGil::AcquiredGil() {
  if (must_stay()) stay();
  state_ = PyGILState_Ensure();
  --coming_back;
}

PythonCallScope::PythonCallScope() {
  if (!must_stay()) return;
  PyEval_SaveThread();
  stay();
}

PythonCallScope::~PythonCallScope() { --coming_back; }

void bind_finalization(nb::module_& m) {
  counted_in = current_process();
  m.def("begin_finalization", &begin_finalization,
        "Called where the interpreter is about to end, on the thread that ends it.");
}

}  // namespace penstock::bindings
