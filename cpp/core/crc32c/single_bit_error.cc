#include "core/crc32c/single_bit_error.h"

#include "core/crc32c/polynomial.h"

namespace penstock {
namespace {

// Beyond, more than one in a thousand of other damages would look like a flipped bit.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 19;

}  // namespace

bool is_single_bit_error(std::uint32_t crc, std::uint32_t right, std::uint64_t size) {
  if (size > kMaxBytes) return false;
  // The difference that a bit makes is shifted, and reduced, once for each bit behind it: undone step by step, it is
  // the polynomial itself when it comes to that bit.
  std::uint32_t difference = crc ^ right;
  for (std::uint64_t bits = size * 8; bits > 0; --bits) {
    if (difference == detail::kPolynomial) return true;
    difference = detail::divided_by_x(difference);
  }
  return false;
}

}  // namespace penstock
