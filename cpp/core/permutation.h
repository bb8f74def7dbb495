// A pseudo-random bijection on 0 ... n-1, selected by a key: a shuffle without memory and with random access.
//
// The result is part of the saved state of a training run: for the same n and key it never changes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock {

// Identifies a permutation: the user's seed, the epoch, and the number of the permutation within it.
struct PermutationKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t stream = 0;
};

class Permutation {
 public:
  // Up to this size all n! orders must be reachable, so a small n is shuffled explicitly.
  static constexpr std::uint64_t kSmall = 4096;

  Permutation(std::uint64_t n, const PermutationKey& key);

  // Replaces each position, all below n, with its image.
  void apply(std::span<std::uint64_t> positions) const;

 private:
  static constexpr int kRounds = 8;

  // Encrypted at once: a CPU works on one while it waits for another.
  static constexpr std::size_t kLanes = 4;

  void encrypt(std::array<std::uint64_t, kLanes>& lanes) const;

  std::uint64_t n_;
  std::vector<std::uint16_t> table_;  // for a small n
  std::array<std::uint64_t, kRounds> keys_{};
  int left_bits_ = 0;
  int right_bits_ = 0;
};

}  // namespace penstock
