#include "core/blake2b.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/little_endian.h"

namespace penstock {
namespace {

constexpr std::uint64_t kDigestBytes = 8;

constexpr std::array<std::uint64_t, 8> kStart = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};

constexpr std::uint8_t kOrder[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

void mix(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c, std::uint64_t& d, std::uint64_t x, std::uint64_t y) {
  a += b + x;
  d = std::rotr(d ^ a, 32);
  c += d;
  b = std::rotr(b ^ c, 24);
  a += b + y;
  d = std::rotr(d ^ a, 16);
  c += d;
  b = std::rotr(b ^ c, 63);
}

}  // namespace

Blake2b::Blake2b(std::span<const std::byte> key) : state_(kStart) {
  state_[0] ^= 0x01010000 ^ (key.size() << 8) ^ kDigestBytes;
  if (key.empty()) return;
  std::memcpy(block_.data(), key.data(), key.size());
  filled_ = kBlock;  // the key is a block of its own
}

void Blake2b::update(std::span<const std::byte> data) {
  while (!data.empty()) {
    if (filled_ == kBlock) compress(false);  // the last block is left for finish()
    const std::size_t taken = std::min(kBlock - filled_, data.size());
    std::memcpy(block_.data() + filled_, data.data(), taken);
    filled_ += taken;
    data = data.subspan(taken);
  }
}

std::uint64_t Blake2b::finish() {
  compress(true);
  return state_[0];
}

void Blake2b::compress(bool is_last) {
  hashed_ += filled_;
  std::array<std::uint64_t, 16> words{}, v{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = load_le64(block_.data() + 8 * i);
  std::copy(state_.begin(), state_.end(), v.begin());
  std::copy(kStart.begin(), kStart.end(), v.begin() + 8);
  v[12] ^= hashed_;
  if (is_last) v[14] = ~v[14];
  for (std::size_t round = 0; round < 12; ++round) {
    const std::uint8_t* order = kOrder[round % 10];
    const auto word = [&](std::size_t i) { return words[order[i]]; };
    for (std::size_t i = 0; i < 4; ++i) mix(v[i], v[4 + i], v[8 + i], v[12 + i], word(2 * i), word(2 * i + 1));
    for (std::size_t i = 0; i < 4; ++i)
      mix(v[i], v[4 + (i + 1) % 4], v[8 + (i + 2) % 4], v[12 + (i + 3) % 4], word(8 + 2 * i), word(9 + 2 * i));
  }
  for (std::size_t i = 0; i < state_.size(); ++i) state_[i] ^= v[i] ^ v[i + 8];
  block_.fill(std::byte{0});
  filled_ = 0;
}

}  // namespace penstock
