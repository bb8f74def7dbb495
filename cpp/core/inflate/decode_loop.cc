#include "core/inflate/decode_loop.h"

namespace penstock::inflate {
namespace {

// One step of a loop whose next entry is known.
template <typename AnyLoop>
PENSTOCK_INLINE Step step(AnyLoop& loop, std::uint32_t e) {
  if (!entry::is_literal(e)) return loop.other(e);
  loop.put_literal(e);
  return Step::kContinue;
}

// Loops are copied to locals whose address is not taken, so that they live in registers.

template <typename Other>
Steps run_two(DecodeLoop& first, Other& second) {
  DecodeLoop one = first;
  Other other = second;
  Steps last;
  while (last.one == Step::kContinue && last.other == Step::kContinue && one.has_margin() && other.has_margin()) {
    one.refill();
    other.refill();
    std::uint32_t e = one.look_up(), f = other.look_up();
    for (int left = DecodeLoop::kLookUps - 1; left > 0 && entry::is_literal(e) && entry::is_literal(f); --left) {
      one.put_literal(e);
      other.put_literal(f);
      e = one.look_up();
      f = other.look_up();
    }
    last.one = step(one, e);
    last.other = step(other, f);
  }
  first = one;
  second = other;
  return last;
}

}  // namespace

Step run_loop(DecodeLoop& given) {
  DecodeLoop loop = given;
  Step last = Step::kContinue;
  while (last == Step::kContinue && loop.has_margin()) {
    loop.refill();
    std::uint32_t e = loop.look_up();
    for (int left = DecodeLoop::kLookUps - 1; left > 0 && entry::is_literal(e); --left) {
      loop.put_literal(e);
      e = loop.look_up();
    }
    last = step(loop, e);
  }
  given = loop;
  return last;
}

Steps run_loops(DecodeLoop& first, DecodeLoop& second) { return run_two(first, second); }
Steps run_loops(DecodeLoop& first, SpeculativeLoop& second) { return run_two(first, second); }

}  // namespace penstock::inflate
