#include "bindings/released_gil.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "io/process.h"

namespace penstock::bindings {
namespace {

namespace nb = nanobind;

std::atomic<bool> ending = false;
std::thread::id last_thread;  // valid once `ending` is set
std::atomic<int> reacquiring = 0;
ProcessId counted_in = 0;  // a forked child has none of the threads that were counted

constexpr std::chrono::milliseconds kStep{1};
constexpr int kMaxSteps = 1000;

// Called by Python on the thread that ends the interpreter, while other threads may still take the GIL.
void begin_finalization() {
  last_thread = std::this_thread::get_id();
  ending = true;
  const ReleasedGil release;
  // Threads that already wait for the GIL get it now.
  if (counted_in == current_process())
    for (int i = 0; i < kMaxSteps && reacquiring != 0; ++i) std::this_thread::sleep_for(kStep);
}

// Counts a thread that will acquire the GIL. Returns true, without counting it, if it must not.
bool must_block() {
  // Count first, then check: begin_finalization() sets the flag before it reads the count.
  ++reacquiring;
  if (!is_finalizing_elsewhere()) return false;
  --reacquiring;
  return true;
}

[[noreturn]] void stay() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

bool is_finalizing_elsewhere() { return ending && std::this_thread::get_id() != last_thread; }

ReleasedGil::~ReleasedGil() {
  if (must_block()) stay();
  PyEval_RestoreThread(state_);
  --reacquiring;
}

AcquiredGil::AcquiredGil() {
  if (must_block()) stay();
  state_ = PyGILState_Ensure();
  --reacquiring;
}

PythonCallScope::PythonCallScope() {
  if (!must_block()) return;
  PyEval_SaveThread();
  stay();
}

PythonCallScope::~PythonCallScope() { --reacquiring; }

void bind_finalization(nb::module_& m) {
  counted_in = current_process();
  m.def("begin_finalization", &begin_finalization,
        "Announce that the interpreter is about to end; call on the thread that ends it.");
}

}  // namespace penstock::bindings
