#include "tests/deflate_streams.h"

#include <algorithm>
#include <array>
#include <vector>

namespace penstock::tests {
namespace {

class BitWriter {
 public:
  void put(std::size_t value, unsigned bits) {
    for (unsigned i = 0; i < bits; ++i) put_bit((value >> i) & 1);
  }
  // Codes are sent from the highest bit on.
  void put_code(std::size_t code, unsigned bits) {
    for (unsigned i = bits; i-- > 0;) put_bit((code >> i) & 1);
  }
  void to_byte() { used_ = 0; }
  std::string& bytes() { return bytes_; }

 private:
  void put_bit(std::size_t bit) {
    if (used_ == 0) bytes_.push_back(0);
    bytes_.back() = static_cast<char>(bytes_.back() | bit << used_);
    used_ = (used_ + 1) % 8;
  }
  std::string bytes_;
  unsigned used_ = 0;  // bits of the last byte
};

class Code {
 public:
  explicit Code(std::vector<unsigned> lengths) : lengths_(std::move(lengths)), codes_(lengths_.size()) {
    std::size_t next = 0;
    for (unsigned bits = 1; bits <= 15; ++bits, next <<= 1)
      for (std::size_t symbol = 0; symbol < lengths_.size(); ++symbol)
        if (lengths_[symbol] == bits) codes_[symbol] = next++;
  }
  void put(BitWriter& out, std::size_t symbol) const { out.put_code(codes_[symbol], lengths_[symbol]); }
  bool has(std::size_t symbol) const { return symbol < lengths_.size() && lengths_[symbol] != 0; }
  const std::vector<unsigned>& lengths() const { return lengths_; }

 private:
  std::vector<unsigned> lengths_;
  std::vector<std::size_t> codes_;
};

// A complete code for some of `symbols` symbols, including `needed`: the leaves of a tree that is split at random.
Code random_code(Random& random, std::size_t symbols, std::size_t needed) {
  std::vector<unsigned> leaves{1, 1};
  const std::size_t wanted = 2 + random.below(symbols - 1);
  const bool deep = random.one_in(3);
  while (leaves.size() < wanted) {
    unsigned& leaf = leaves[deep && !random.one_in(4) ? leaves.size() - 1 : random.below(leaves.size())];
    if (leaf == 15) {
      if (deep) std::rotate(leaves.begin(), leaves.begin() + 1, leaves.end());
      if (std::all_of(leaves.begin(), leaves.end(), [](unsigned bits) { return bits == 15; })) break;
      continue;
    }
    leaves.push_back(++leaf);
  }
  std::vector<unsigned> lengths(symbols);
  std::copy(leaves.begin(), leaves.end(), lengths.begin());
  for (std::size_t i = symbols; i > 1; --i) std::swap(lengths[i - 1], lengths[random.below(i)]);
  if (lengths[needed] == 0)
    std::swap(lengths[needed], *std::find_if(lengths.begin(), lengths.end(), [](unsigned n) { return n != 0; }));
  return Code(std::move(lengths));
}

void put_codes(Random& random, BitWriter& out, const Code& literals, const Code& distances) {
  static constexpr std::array<std::size_t, 19> kOrder{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  const Code lengths_code({4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5});
  out.put(literals.lengths().size() - 257, 5);
  out.put(distances.lengths().size() - 1, 5);
  out.put(19 - 4, 4);
  for (const std::size_t symbol : kOrder) out.put(lengths_code.lengths()[symbol], 3);
  std::vector<unsigned> all = literals.lengths();
  all.insert(all.end(), distances.lengths().begin(), distances.lengths().end());
  for (std::size_t i = 0; i < all.size();) {
    std::size_t run = 1;
    while (i + run < all.size() && all[i + run] == all[i]) ++run;
    if (all[i] == 0 && run >= 11 && !random.one_in(4)) {
      run = std::min<std::size_t>(run, 138);
      lengths_code.put(out, 18);
      out.put(run - 11, 7);
    } else if (all[i] == 0 && run >= 3 && !random.one_in(4)) {
      run = std::min<std::size_t>(run, 10);
      lengths_code.put(out, 17);
      out.put(run - 3, 3);
    } else if (i > 0 && all[i] == all[i - 1] && run >= 3 && !random.one_in(4)) {
      run = std::min<std::size_t>(run, 6);
      lengths_code.put(out, 16);
      out.put(run - 3, 2);
    } else {
      run = 1;
      lengths_code.put(out, all[i]);
    }
    i += run;
  }
}

struct Extra {
  std::size_t base;
  unsigned bits;
};
Extra length_of(std::size_t symbol) {
  if (symbol == 285) return {258, 0};
  Extra extra{3, 0};
  for (std::size_t code = 257; code < symbol; ++code) {
    extra.base += std::size_t{1} << extra.bits;
    extra.bits = code + 1 < 265 ? 0 : static_cast<unsigned>(code + 1 - 261) / 4;
  }
  return extra;
}
Extra distance_of(std::size_t symbol) {
  Extra extra{1, 0};
  for (std::size_t code = 0; code < symbol; ++code) {
    extra.base += std::size_t{1} << extra.bits;
    extra.bits = code + 1 < 4 ? 0 : static_cast<unsigned>(code + 1) / 2 - 1;
  }
  return extra;
}

void repeat(std::string& plain, std::size_t distance, std::size_t length) {
  while (length-- > 0) plain.push_back(plain[plain.size() - distance]);
}

void put_match(Random& random, BitWriter& out, const Code& distances, std::size_t symbol, const Extra& length,
               std::string& plain, const Code& literals) {
  std::vector<std::size_t> reachable;
  for (std::size_t place = 0; place < 30; ++place) {
    const Extra distance = distance_of(place);
    if (distances.has(place) && distance.base + (std::size_t{1} << distance.bits) - 1 <= plain.size())
      reachable.push_back(place);
  }
  if (reachable.empty()) return;
  literals.put(out, symbol);
  const std::size_t more = random.below(std::size_t{1} << length.bits);
  out.put(more, length.bits);
  const std::size_t place = reachable[random.below(reachable.size())];
  const Extra distance = distance_of(place);
  distances.put(out, place);
  const std::size_t further = random.below(std::size_t{1} << distance.bits);
  out.put(further, distance.bits);
  repeat(plain, distance.base + further, length.base + more);
}

void put_match(BitWriter& out, std::size_t length, std::size_t distance, const Code& literals, const Code& distances,
               std::string& plain) {
  std::size_t symbol = 257, place = 0;
  while (symbol < 285 && length_of(symbol + 1).base <= length) ++symbol;
  while (place < 29 && distance_of(place + 1).base <= distance) ++place;
  literals.put(out, symbol);
  out.put(length - length_of(symbol).base, length_of(symbol).bits);
  distances.put(out, place);
  out.put(distance - distance_of(place).base, distance_of(place).bits);
  repeat(plain, distance, length);
}

void put_symbols(Random& random, BitWriter& out, const Code& literals, const Code& distances, std::string& plain) {
  const std::size_t matches = 1 + random.below(8);
  // Some blocks are long enough for speculative decoding.
  for (std::size_t left = random.below(random.one_in(200)  ? 60'000
                                       : random.one_in(20) ? 3000
                                                           : 200);
       left > 0; --left) {
    const std::size_t symbol = random.one_in(matches) ? 257 + random.below(29) : random.below(256);
    if (!literals.has(symbol)) continue;
    if (symbol > 256) {
      put_match(random, out, distances, symbol, length_of(symbol), plain, literals);
      continue;
    }
    literals.put(out, symbol);
    plain.push_back(static_cast<char>(symbol));
  }
  literals.put(out, 256);
}

Code fixed_literals() {
  std::vector<unsigned> lengths(288, 8);
  std::fill(lengths.begin() + 144, lengths.begin() + 256, 9u);
  std::fill(lengths.begin() + 256, lengths.begin() + 280, 7u);
  return Code(std::move(lengths));
}
Code fixed_distances() { return Code(std::vector<unsigned>(30, 5)); }

// Writes what follows the bit that marks the last block.
void put_stored(BitWriter& out, const std::string& stored, std::string& plain) {
  out.put(0, 2);
  out.to_byte();
  out.put(stored.size(), 16);
  out.put(~stored.size(), 16);
  out.bytes() += stored;
  plain += stored;
}

}  // namespace

Deflated deflate_stream(Random& random) {
  BitWriter out;
  std::string plain;
  for (std::size_t left = 1 + random.below(4); left > 0; --left) {
    out.put(left == 1 ? 1 : 0, 1);
    const std::size_t kind = random.below(5);
    if (kind == 0) {
      const std::string stored(random.below(random.one_in(8) ? 3000 : 100), static_cast<char>(random.below(256)));
      put_stored(out, stored, plain);
    } else if (kind == 1) {
      out.put(1, 2);
      put_symbols(random, out, fixed_literals(), fixed_distances(), plain);
    } else {
      const Code literals = random_code(random, 257 + random.below(30), 256);
      const std::size_t distances = 1 + random.below(30);
      const bool one = distances == 1 || random.one_in(8);  // zlib accepts a single code of one bit, and none at all
      std::vector<unsigned> few(distances);
      few[random.below(distances)] = static_cast<unsigned>(random.below(2));
      const Code locations = one ? Code(std::move(few)) : random_code(random, distances, 0);
      out.put(2, 2);
      put_codes(random, out, literals, locations);
      put_symbols(random, out, literals, locations, plain);
    }
  }
  return {std::move(out.bytes()), std::move(plain)};
}

Deflated deflate_mixture(Random& random, const Mixture& mixture, std::size_t size) {
  const Code literals = fixed_literals(), distances = fixed_distances();
  BitWriter out;
  std::string plain;
  const auto put_literals = [&](std::size_t count) {
    for (; count > 0; --count) {
      plain.push_back(static_cast<char>(random.below(256)));
      literals.put(out, static_cast<unsigned char>(plain.back()));
    }
  };
  out.put(1 << 1, 3);
  put_literals(std::min<std::size_t>(size, 1));
  while (plain.size() < size) {
    put_literals(std::min(random.below(mixture.max_literals + 1), size - plain.size()));
    const std::size_t left = size - plain.size();
    if (left < mixture.shortest_match) {
      put_literals(left);
    } else if (mixture.shortest_match != 0) {
      const std::size_t length =
          mixture.shortest_match + random.below(mixture.longest_match - mixture.shortest_match + 1);
      put_match(out, std::min(length, left), 1 + random.below(std::min(mixture.farthest_match, plain.size())), literals,
                distances, plain);
    }
    if (mixture.stored && random.one_in(500)) {
      literals.put(out, 256);
      out.put(0, 1);
      put_stored(out, std::string(std::min(random.below(5000), size - plain.size()), 's'), plain);
      out.put(1 << 1, 3);
    }
  }
  literals.put(out, 256);
  out.put(1, 1);  // the last block, empty
  put_stored(out, "", plain);
  return {std::move(out.bytes()), std::move(plain)};
}

}  // namespace penstock::tests
