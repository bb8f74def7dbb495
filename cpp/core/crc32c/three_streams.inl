// The algorithm that the hardware kernels share. A CRC instruction has a latency of three cycles and a throughput of
// one, so three interleaved streams are three times as fast as one. Carry-less multiplication joins them.
//
// The including file defines PENSTOCK_CRC_TARGET (the function attribute that enables the instructions) and
// crc_u64(crc, word), crc_u8(crc, byte), clmul(a, b). A kernel with a faster method for the front of long input passes
// it as Front.

constexpr std::size_t kMaxStreamWords = 128;

struct NoFront {
  static void take(std::uint32_t&, const std::byte*&, std::size_t&) {}
};

template <class Front = NoFront>
PENSTOCK_CRC_TARGET std::uint32_t three_streams(std::uint32_t crc, const std::byte* data, std::size_t size) {
  const std::byte* const start = data;
  const bool of_whole = crc == 0 && size >= 8;
  if (of_whole) {
    // The odd bytes come first, as the end of a word that starts with zeros. Zeros would change the register, which
    // starts as all ones, so it starts with a value that becomes all ones after them. No branch depends on the number
    // of odd bytes, which varies from record to record.
    const std::size_t odd = ((size - 1) & 7) + 1;
    crc = static_cast<std::uint32_t>(crc_u64(kBeforeZeros[8 - odd], load_le64(data) << (64 - 8 * odd)));
    data += odd;
    size -= odd;
  } else {
    crc = ~crc;
  }
  Front::take(crc, data, size);
  // Below this size, joining costs more than the streams save.
  while (size >= 144) {
    const std::size_t words = size / 24 < kMaxStreamWords ? size / 24 : kMaxStreamWords;
    const std::byte* a = data;
    const std::byte* b = a + 8 * words;
    const std::byte* c = b + 8 * words;
    std::uint64_t crc_a = crc, crc_b = 0, crc_c = 0;
    for (std::size_t i = 0; i + 1 < words; ++i, a += 8, b += 8, c += 8) {
      crc_a = crc_u64(crc_a, load_le64(a));
      crc_b = crc_u64(crc_b, load_le64(b));
      crc_c = crc_u64(crc_c, load_le64(c));
    }
    crc_a = crc_u64(crc_a, load_le64(a));
    crc_b = crc_u64(crc_b, load_le64(b));
    const std::uint64_t join = clmul(crc_a, kShift[2 * words]) ^ clmul(crc_b, kShift[words]);
    crc = static_cast<std::uint32_t>(crc_u64(crc_c, load_le64(c) ^ join));
    data += 24 * words;
    size -= 24 * words;
  }
  for (; size >= 24; data += 8, size -= 8) crc = static_cast<std::uint32_t>(crc_u64(crc, load_le64(data)));
  if (of_whole) {
    // Zero, one or two words are left, which also varies from record to record: masks select, and missing words are
    // read from the start instead.
    const std::size_t one = 0 - ((size + 8) >> 4), two = 0 - (size >> 4), at = static_cast<std::size_t>(data - start);
    const std::uint64_t first = crc_u64(crc, load_le64(start + (at & one)));
    crc ^= (crc ^ static_cast<std::uint32_t>(first)) & static_cast<std::uint32_t>(one);
    const std::uint64_t second = crc_u64(crc, load_le64(start + ((at + 8) & two)));
    crc ^= (crc ^ static_cast<std::uint32_t>(second)) & static_cast<std::uint32_t>(two);
    return ~crc;
  }
  for (; size >= 8; data += 8, size -= 8) crc = static_cast<std::uint32_t>(crc_u64(crc, load_le64(data)));
  for (; size > 0; ++data, --size) crc = crc_u8(crc, static_cast<std::uint8_t>(*data));
  return ~crc;
}
