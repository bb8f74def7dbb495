// The x86-64 kernel: one PEXT gathers the seven-bit groups of a value.
#include "core/example/varint_kernels.h"

#ifdef PENSTOCK_VARINT_BMI2

#include <immintrin.h>

#include "core/bytes.h"
#include "core/example/varint_run.h"
#include "core/example/wire.h"

// The instructions are enabled for this function alone: binaries stay portable.
#define PENSTOCK_BMI2_TARGET __attribute__((target("bmi,bmi2")))

namespace penstock::detail {

bool varint_bmi2_supported() {
  __builtin_cpu_init();
  // AMD's CPUs before Zen 3 have the instruction, and take a hundred cycles for it.
  const bool slow = __builtin_cpu_is("amdfam15h") || __builtin_cpu_is("amdfam17h");
  return !slow && __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
}

PENSTOCK_BMI2_TARGET
std::size_t varint_bmi2(const std::byte* p, std::uint64_t ends, std::int64_t*& out) {
  constexpr std::uint64_t kGroups = 0x7F7F7F7F7F7F7F7Fu;
  std::int64_t* next = out;
  unsigned begin = 0;
  for (; ends != 0; ends = _blsr_u64(ends)) {
    const auto end = static_cast<unsigned>(_tzcnt_u64(ends)) + 1;
    std::uint64_t value;
    if (end - begin <= 8) [[likely]] {
      value = _pext_u64(load_le64(p + begin), _bzhi_u64(kGroups, 8 * (end - begin)));
    } else {
      const std::byte* from = p + begin;
      if (!wire::read_varint(from, p + end, value)) return kBadRun;
    }
    *next++ = static_cast<std::int64_t>(value);
    begin = end;
  }
  out = next;
  return begin;
}

}  // namespace penstock::detail

#endif  // PENSTOCK_VARINT_BMI2
