#include "core/inflate/decode_loop.h"

namespace penstock::inflate {
namespace {

// One step of a lane whose next entry is known.
template <typename AnyLane>
PENSTOCK_INLINE Step step(AnyLane& lane, std::uint32_t e) {
  if (!entry::is_literal(e)) return lane.other(e);
  lane.put_literal(e);
  return Step::kGoOn;
}

// Lanes are copied, so that nobody has their addresses: they live in registers.

template <typename Other>
Steps run_two(Lane& first, Other& second) {
  Lane one = first;
  Other other = second;
  Steps last;
  while (last.one == Step::kGoOn && last.other == Step::kGoOn && one.has_room() && other.has_room()) {
    one.refill();
    other.refill();
    std::uint32_t e = one.look_up(), f = other.look_up();
    for (int left = Lane::kLookUps - 1; left > 0 && entry::is_literal(e) && entry::is_literal(f); --left) {
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

Step run_lane(Lane& given) {
  Lane lane = given;
  Step last = Step::kGoOn;
  while (last == Step::kGoOn && lane.has_room()) {
    lane.refill();
    std::uint32_t e = lane.look_up();
    for (int left = Lane::kLookUps - 1; left > 0 && entry::is_literal(e); --left) {
      lane.put_literal(e);
      e = lane.look_up();
    }
    last = step(lane, e);
  }
  given = lane;
  return last;
}

Steps run_lanes(Lane& first, Lane& second) { return run_two(first, second); }
Steps run_lanes(Lane& first, ScoutLane& second) { return run_two(first, second); }

}  // namespace penstock::inflate
