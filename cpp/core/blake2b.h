// BLAKE2b (RFC 7693) with a digest of 8 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

class Blake2b {
 public:
  // A key has at most 64 bytes.
  explicit Blake2b(std::span<const std::byte> key);

  void update(std::span<const std::byte> data);
  // The digest as a little-endian integer. Nothing may follow.
  std::uint64_t finish();

 private:
  static constexpr std::size_t kBlock = 128;

  void compress(bool is_last);

  std::array<std::uint64_t, 8> state_{};
  std::array<std::byte, kBlock> block_{};
  std::size_t filled_ = 0;
  std::uint64_t hashed_ = 0;
};

}  // namespace penstock
