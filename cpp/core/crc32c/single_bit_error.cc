#include "core/crc32c/single_bit_error.h"

#include "core/crc32c/polynomial.h"

namespace penstock {
namespace {

// Beyond this size, more than one in a thousand other errors would look like a flipped bit.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 19;

}  // namespace

bool is_single_bit_error(std::uint32_t crc, std::uint32_t right, std::uint64_t size) {
  if (size > kMaxBytes) return false;
  // The difference that a flipped bit makes is shifted and reduced once for each bit after it. Undone step by step, it
  // equals the polynomial at the flipped bit.
  std::uint32_t difference = crc ^ right;
  for (std::uint64_t bits = size * 8; bits > 0; --bits) {
    if (difference == detail::kPolynomial) return true;
    difference = detail::divided_by_x(difference);
  }
  return false;
}

}  // namespace penstock
