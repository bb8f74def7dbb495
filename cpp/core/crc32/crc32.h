// CRC-32 (IEEE 802.3), the checksum of gzip, with one kernel per CPU family.
//
// A kernel extends a finished checksum by more bytes, as with CRC32C. All kernels return the same value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock {

struct Crc32Kernel {
  const char* name;
  std::uint32_t (*extend)(std::uint32_t crc, const std::byte* data, std::size_t size);
};

// The kernels that this CPU can run, fastest first. Never empty: the last one is the portable table.
std::span<const Crc32Kernel> crc32_kernels();

std::uint32_t crc32(std::span<const std::byte> data);

}  // namespace penstock
