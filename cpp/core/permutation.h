// A pseudo-random bijection on 0 ... n-1, chosen by a key: a shuffle that needs no memory and can be entered anywhere.
//
// What it answers is part of the saved state of a training run: for the same n and key it never changes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// What tells permutations apart: the user's seed, the pass over the data, and which of several permutations it is.
struct PermutationKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t stream = 0;
};

class Permutation {
 public:
  // Below this size all n! orders must be within reach, so a small n is shuffled outright.
  static constexpr std::uint64_t kSmall = 4096;

  Permutation(std::uint64_t n, const PermutationKey& key);

  // Puts an image in the place of each position; all are below n.
  void apply(std::span<std::uint64_t> positions) const;

 private:
  static constexpr int kRounds = 8;

  // How many are encrypted at once: a CPU works on one while it waits for another.
  static constexpr std::size_t kLanes = 4;

  void encrypt(std::array<std::uint64_t, kLanes>& lanes) const;

  std::uint64_t n_;
  std::vector<std::uint16_t> table_;  // of a small n
  std::array<std::uint64_t, kRounds> keys_{};
  int left_bits_ = 0;
  int right_bits_ = 0;
};

}  // namespace penstock
