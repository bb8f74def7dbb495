#include "core/permutation.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace penstock {
namespace {

// The finalizer of SplitMix64: every bit of the input changes every bit of the output with probability one half.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

class Generator {
 public:
  explicit Generator(const PermutationKey& key)
      : state_(mix(mix(mix(key.seed + kStep) + key.epoch + kStep) + key.stream + kStep)) {}

  std::uint64_t next() { return mix(state_ += kStep); }

  // Returns a number below `bound`, which is small: the bias of the remainder is below 2^-48.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
  std::uint64_t state_;
};

}  // namespace

Permutation::Permutation(std::uint64_t n, const PermutationKey& key) : n_(n) {
  Generator random(key);
  if (n <= kSmall) {
    table_.resize(n);
    std::iota(table_.begin(), table_.end(), std::uint16_t{0});
    for (std::uint64_t i = n; i > 1; --i) std::swap(table_[i - 1], table_[random.below(i)]);
    return;
  }
  for (std::uint64_t& round_key : keys_) round_key = random.next();
  const auto bits = static_cast<int>(std::bit_width(n - 1));
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
}

// A Feistel network on the smallest number of bits that holds n; the halves swap in each round.
void Permutation::encrypt(std::array<std::uint64_t, kLanes>& lanes) const {
  int left = left_bits_, right = right_bits_;
  for (const std::uint64_t key : keys_) {
    for (std::uint64_t& x : lanes) {
      const std::uint64_t low = x & ((std::uint64_t{1} << right) - 1);
      const std::uint64_t high = (x >> right) ^ (mix(low ^ key) >> (64 - left));
      x = (low << left) | high;
    }
    std::swap(left, right);
  }
}

void Permutation::apply(std::span<std::uint64_t> positions) const {
  if (!table_.empty()) {
    for (std::uint64_t& position : positions) position = table_[position];
    return;
  }
  // Results outside the range are encrypted again (cycle walking) until they fall inside.
  std::vector<std::size_t> outside(positions.size());
  std::iota(outside.begin(), outside.end(), std::size_t{0});
  std::array<std::uint64_t, kLanes> lanes{};
  while (!outside.empty()) {
    for (std::size_t first = 0; first < outside.size(); first += kLanes) {
      const std::size_t count = std::min(kLanes, outside.size() - first);
      for (std::size_t i = 0; i < count; ++i) lanes[i] = positions[outside[first + i]];
      encrypt(lanes);
      for (std::size_t i = 0; i < count; ++i) positions[outside[first + i]] = lanes[i];
    }
    std::erase_if(outside, [&](std::size_t i) { return positions[i] < n_; });
  }
}

}  // namespace penstock
