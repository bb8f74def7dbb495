#include "tests/odd_messages.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace penstock::tests {
namespace {

std::string varint(std::uint64_t value, std::size_t padding = 0) {
  std::string out;
  for (; value >= 0x80 || padding > 0; value >>= 7) {
    out += static_cast<char>(value | 0x80);
    if (value < 0x80) --padding;
  }
  return out + static_cast<char>(value);
}

class Writer {
 public:
  explicit Writer(Random& random) : random_(random), plain_(random.one_in(3)) {}

  std::string message(bool sequence_example) {
    std::string out;
    const std::size_t parts = odd(6) ? random_.below(4) : 1;
    for (std::size_t i = 0; i < parts; ++i) {
      out += unknown() + field(1, map(false));
      if (sequence_example || odd(8)) out += field(2, map(true));
    }
    return out;
  }

 private:
  // Whether to do something odd; never in a plain message.
  bool odd(std::size_t n) { return !plain_ && random_.one_in(n); }

  std::string tag(unsigned number, unsigned type) { return varint(number << 3 | type, odd(25) ? random_.below(4) : 0); }
  std::string field(unsigned number, const std::string& content) {
    return tag(number, 2) + varint(content.size(), odd(25) ? random_.below(3) : 0) + content;
  }

  std::string unknown() {
    if (!odd(12)) return "";
    const unsigned number = random_.one_of<unsigned>({1, 2, 3, 4, 15, 16, 536870911});
    switch (random_.below(5)) {
      case 0:
        return tag(number, 0) + varint(random_.bits() >> random_.below(64));
      case 1:
        return tag(number, 1) + std::string(8, 'x');
      case 2:
        return field(number + 3, std::string(random_.below(5), 'y'));
      case 3:
        return tag(number, 5) + std::string(4, 'z');
      default:
        return random_.one_in(4) ? tag(number, 3) + tag(number, 4) : "";
    }
  }

  std::uint64_t integer() {
    switch (random_.below(4)) {
      case 0:
        return random_.below(2);
      case 1:
        return random_.bits() >> random_.below(64);
      case 2:
        return ~random_.below(200);
      default:
        return random_.below(300);
    }
  }

  std::string real() {
    const std::uint32_t bits =
        random_.one_of<std::uint32_t>({0x3F800000, 0x3FC00000, 0x80000000, 0x7F800000, 0x7FA00001, 0xC7000000,
                                       0x33800000, 0x47FFE000, static_cast<std::uint32_t>(random_.bits())});
    std::string out(4, '\0');
    std::memcpy(out.data(), &bits, 4);
    return out;
  }

  std::string text() { return std::string(random_.one_of<std::size_t>({0, 1, 4, 11, 12, 13, 40}), 't'); }

  std::string list(unsigned kind) {
    std::string out;
    const std::size_t runs = odd(5) ? random_.below(4) : 1;
    for (std::size_t run = 0; run < runs; ++run) {
      out += unknown();
      const std::size_t n = random_.one_in(3) ? 1 : random_.below(9);
      std::string packed;
      const bool unpacked = kind == 1 || odd(4);
      for (std::size_t i = 0; i < n; ++i) {
        const std::string value = kind == 1   ? field(1, text())
                                  : kind == 2 ? (unpacked ? tag(1, 5) : "") + real()
                                              : (unpacked ? tag(1, 0) : "") + varint(integer(), odd(30) ? 3 : 0);
        packed += value;
      }
      out += unpacked ? packed : packed.empty() && !odd(2) ? "" : field(1, packed);
    }
    return out;
  }

  std::string feature(unsigned kind) {
    std::string out = unknown();
    if (random_.one_in(12)) return out;  // unset
    const std::size_t lists = odd(8) ? random_.below(4) : 1;
    for (std::size_t i = 0; i < lists; ++i) {
      out += field(kind, list(kind)) + unknown();
      if (odd(3)) kind = 1 + static_cast<unsigned>(random_.below(3));
    }
    return out;
  }

  // Keys mostly keep their kind, so that plans fit.
  unsigned kind_of(std::size_t key) {
    return 1 + static_cast<unsigned>(random_.one_in(15) ? random_.below(3) : key % 3);
  }

  std::string value(bool steps, std::size_t key) {
    if (!steps) return feature(kind_of(key));
    std::string out;
    for (std::size_t i = random_.below(5); i-- > 0;) out += unknown() + field(1, feature(kind_of(key)));
    return out;
  }

  std::string map(bool steps) {
    std::string out;
    const std::size_t first = random_.below(std::size(kKeys));
    for (std::size_t i = random_.below(8); i-- > 0;) {
      const std::size_t key = odd(4) ? random_.below(std::size(kKeys)) : (first + i) % std::size(kKeys);
      std::string entry;
      const std::string name = field(1, kKeys[key]);
      const bool late = odd(10);
      if (!late && !odd(30)) entry += name;
      entry += unknown();
      const std::size_t values = odd(10) ? random_.below(4) : 1;
      for (std::size_t v = 0; v < values; ++v) entry += field(2, value(steps, key));
      if (late) entry += name;
      out += field(1, entry) + unknown();
    }
    return out;
  }

  Random& random_;
  const bool plain_;
};

}  // namespace

std::string odd_message(Random& random, bool sequence_example) { return Writer(random).message(sequence_example); }

std::string crowded_message(Random& random, bool sequence_example) {
  const auto field = [](int tag, const std::string& content) {
    return static_cast<char>(tag) + varint(content.size()) + content;
  };
  const std::size_t n = 4000 + random.below(12000);
  const auto crowd = [&](const std::string& one) {
    std::string out;
    for (std::size_t i = 0; i < n; ++i) out += one;
    return out;
  };
  const std::string key = kKeys[random.below(std::size(kKeys))], name = field(0x0A, key);
  const auto entry = [&](const std::string& value) { return field(0x0A, name + field(0x12, value)); };
  const unsigned section = sequence_example ? random.one_of({0x0A, 0x12}) : 0x0A;
  const auto value = [&](const std::string& feature) { return section == 0x0A ? feature : field(0x0A, feature); };
  const auto message = [&](const std::string& map) { return field(static_cast<int>(section), map); };
  switch (random.below(8)) {
    case 0:
      return message(entry(value(field(0x1A, field(0x0A, crowd("\1"))))));  // packed integers
    case 1:
      return message(entry(value(field(0x1A, crowd("\x08\1")))));  // integers one by one
    case 2:
      return message(entry(value(field(0x0A, crowd(std::string("\x0a\0", 2))))));  // empty strings
    case 3:
      return message(entry(value(crowd(std::string("\x1a\0", 2)))));  // empty lists of one feature
    case 4:
      return message(entry(crowd(std::string("\x0a\0", 2))));  // unset steps
    case 5:
      return message(field(0x0A, name + crowd(std::string("\x12\0", 2))));  // pieces of one value
    case 6:
      return message(
          crowd(field(0x0A, name + "\x12\x02\x1a" + std::string(1, '\0') + "\x12\x02\x1a" + std::string(1, '\0'))));
    default:
      return message(crowd(entry("")));  // the same key again and again
  }
}

void mutate(Random& random, std::string& bytes, const std::string& other) {
  for (std::size_t changes = 1 + random.below(3); changes-- > 0;) {
    const std::size_t at = random.below(bytes.size() + 1);
    const std::size_t size = std::min(bytes.size() - at, 1 + random.below(8));
    switch (random.below(8)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        break;
      case 1:  // a length or a tag that is slightly off
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] + (random.one_in(2) ? 1 : -1));
        break;
      case 2:
        if (at < bytes.size())
          bytes[at] = static_cast<char>(random.one_of({0x00, 0x7F, 0x80, 0xFF, 0x0A, 0x08, 0x0D, 0x12, 0x1A, 0x0B}));
        break;
      case 3:
        bytes.insert(at, varint(random.bits() >> random.below(64), random.below(6)));
        break;
      case 4:
        bytes.erase(at, size);
        break;
      case 5:
        bytes.insert(at, bytes.substr(at, size));
        break;
      case 6:
        bytes = bytes.substr(0, at) + other.substr(random.below(other.size() + 1));
        break;
      default:
        bytes.resize(at);
        break;
    }
  }
}

}  // namespace penstock::tests
