#include "core/inflate/lane.h"

namespace penstock::inflate {
namespace {

// One step of a lane whose next entry is known.
PENSTOCK_INLINE Step step(Lane& lane, std::uint32_t e) {
  if (!entry::is_literal(e)) return lane.other(e);
  lane.put_literals(e);
  return Step::kGoOn;
}

}  // namespace

// Lanes are copied, so that nobody has their addresses: they live in registers.

Step run_lane(Lane& given) {
  Lane lane = given;
  Step last = Step::kGoOn;
  while (last == Step::kGoOn && lane.has_room()) {
    lane.refill();
    std::uint32_t e = lane.look_up();
    for (int left = Lane::kLookUps - 1; left > 0 && entry::is_literal(e); --left) {
      lane.put_literals(e);
      e = lane.look_up();
    }
    last = step(lane, e);
  }
  given = lane;
  return last;
}

Steps run_lanes(Lane& first, Lane& second) {
  Lane one = first, other = second;
  Steps last;
  while (last.one == Step::kGoOn && last.other == Step::kGoOn && one.has_room() && other.has_room()) {
    one.refill();
    other.refill();
    std::uint32_t e = one.look_up(), f = other.look_up();
    for (int left = Lane::kLookUps - 1; left > 0 && entry::is_literal(e & f); --left) {
      one.put_literals(e);
      other.put_literals(f);
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

}  // namespace penstock::inflate
