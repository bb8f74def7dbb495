#include "tests/inflate_check.h"

#include <algorithm>
#include <memory>

#include "core/crc32/crc32.h"
#include "core/inflate/inflater.h"
#include "core/inflate/restart.h"
#include "tests/checks.h"
#include "tests/deflate_streams.h"
#include "tests/memory.h"
#include "tests/odd_messages.h"

namespace penstock::tests {
namespace {

using inflate::Inflater;
using inflate::Stop;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Memory of exactly this size, whose ends a sanitizer guards.
struct Exact {
  explicit Exact(std::size_t bytes) : memory(new std::byte[bytes]), size(bytes) {}
  std::span<std::byte> span() const { return {memory.get(), size}; }
  std::unique_ptr<std::byte[]> memory;
  std::size_t size;
};

struct Whole {
  std::string plain;
  bool done = false;
  std::size_t after = 0;  // bytes after the end of the data
};

// Inflates in parts: inputs and outputs are minimal, or large enough for speculative decoding.
Whole inflate_in_parts(Random& random, std::span<const std::byte> stream) {
  const std::size_t max_input = random.one_in(2) ? 20 : 50'000, max_output = random.one_in(2) ? 100 : 50'000;
  Whole found;
  Inflater inflater;
  Exact input(0);
  for (Stop stop = Stop::kNeedsInput; stop == Stop::kNeedsInput || stop == Stop::kNeedsOutput;) {
    if (stop == Stop::kNeedsInput) {
      require(inflater.unread() == 0, "input is requested while there is some");
      if (stream.empty()) return found;
      input = Exact(std::min(1 + random.below(max_input), stream.size()));
      std::memcpy(input.span().data(), stream.data(), input.size);
      stream = stream.subspan(input.size);
      inflater.feed(input.span());
    }
    const std::size_t known = std::min(found.plain.size(), inflate::kWindowBytes);
    const Exact output(known + 258 + random.below(max_output));
    std::byte *const begin = output.span().data(), *const next = begin + known;
    if (known != 0) std::memcpy(begin, found.plain.data() + found.plain.size() - known, known);
    inflater.write_to({begin, next, begin + output.size});
    stop = inflater.advance();
    found.plain.append(reinterpret_cast<const char*>(next), static_cast<std::size_t>(inflater.output().next - next));
    found.done = stop == Stop::kDone;
  }
  found.after = inflater.unread() + stream.size();
  return found;
}

// From blocks of a stream, with as much of the window as they use, the rest inflates to the same.
void check_restarts(Random& random, std::span<const std::byte> stream, const std::string& plain) {
  const Exact output(plain.size() + 258);
  std::byte* const begin = output.span().data();
  Inflater inflater;
  inflater.feed(stream);
  inflater.write_to({begin, begin, begin + output.size});
  for (;;) {
    inflater.stop_at_block();
    if (inflater.advance() != Stop::kBlock) return;
    if (!random.one_in(3)) continue;
    const auto known = static_cast<std::size_t>(inflater.output().next - begin);
    const std::size_t bits = stream.size() * 8 - inflater.undecoded_bits();
    const Exact input(stream.size() - bits / 8);
    std::copy(stream.end() - static_cast<std::ptrdiff_t>(input.size), stream.end(), input.span().data());
    const std::size_t window = std::min(known, inflate::kWindowBytes);
    const auto bits_before = static_cast<unsigned>(bits % 8);
    const std::vector<std::byte> used =
        inflate::used_window({input.span(), bits_before, {inflater.output().next - window, window}});
    const std::size_t left = plain.size() - known, skip = random.below(left + 1);
    const inflate::Inflated again =
        inflate::inflate_from({input.span(), bits_before, used}, random.one_in(2), skip, left - skip);
    require(again.piece.has_value(), "a stream cannot be inflated from one of its blocks");
    const std::span<const std::byte> found = again.piece->bytes();
    require(std::equal(found.begin(), found.end(), bytes_of(plain).begin() + static_cast<std::ptrdiff_t>(known + skip)),
            "a stream inflates otherwise from one of its blocks");
  }
}

// Whatever the data, the window and the claims are.
void restart_anywhere(Random& random, std::span<const std::byte> stream, std::size_t size) {
  const Exact input(stream.size() - random.below(stream.size() + 1)), window(random.below(inflate::kWindowBytes + 1));
  std::copy(stream.end() - static_cast<std::ptrdiff_t>(input.size), stream.end(), input.span().data());
  std::fill_n(window.span().data(), window.size, std::byte{7});
  const auto bits = static_cast<unsigned>(random.below(8));
  inflate::used_window({input.span(), bits, window.span()});
  inflate::inflate_from({input.span(), bits, window.span()}, random.one_in(2), random.below(size + 1),
                        random.below(100) == 0 ? random.below(std::size_t{1} << 30) : random.below(size + 1));
}

}  // namespace

bool check_inflate(Random& random, const std::string& stream, std::size_t size, std::string& plain) {
  const SharedBuffer input = place_input(bytes_of(stream), random.one_in(2));
  const std::span<const std::byte> bytes{input->data(), stream.size()};
  const Exact alone(size), interleaved(size);
  const bool good = Inflater(bytes, alone.span()).run();

  static Deflated partner;
  if (partner.stream.empty() || random.one_in(20)) partner = deflate_stream(random);
  const Exact other(partner.plain.size());
  Inflater one(bytes, interleaved.span()), two(bytes_of(partner.stream), other.span());
  if (random.one_in(2))
    Inflater::run_interleaved(one, two);
  else
    Inflater::run_interleaved(two, one);
  require(one.run() == good, "a stream inflates differently when interleaved");
  const Whole in_parts = inflate_in_parts(random, bytes);
  require(good == (in_parts.done && in_parts.after == 0 && in_parts.plain.size() == size),
          "a stream inflates otherwise in parts");
  require(two.run() && std::memcmp(other.span().data(), partner.plain.data(), other.size) == 0,
          "a stream disturbs the one that it is inflated in turns with");
  restart_anywhere(random, bytes, size);
  if (!good) return false;
  require(std::memcmp(alone.span().data(), interleaved.span().data(), size) == 0, "bytes differ when interleaved");
  require(std::memcmp(alone.span().data(), in_parts.plain.data(), size) == 0, "bytes differ in parts");
  plain.assign(reinterpret_cast<const char*>(alone.span().data()), size);
  for (const Crc32Kernel& kernel : crc32_kernels())
    require(kernel.extend(0, alone.span().data(), size) == crc32(interleaved.span()), kernel.name);
  check_restarts(random, bytes, plain);
  return true;
}

void check_deflate_stream(Random& random) {
  static Deflated made;
  if (made.stream.empty() || random.one_in(4)) {
    made = deflate_stream(random);
    std::string plain;
    require(check_inflate(random, made.stream, made.plain.size(), plain), "a valid stream is rejected");
    require(plain == made.plain, "a stream inflates to something else");
    require(!check_inflate(random, made.stream, made.plain.size() + 1, plain), "output is missing");
    require(made.plain.empty() || !check_inflate(random, made.stream, made.plain.size() - 1, plain), "too much output");
    require(!check_inflate(random, made.stream + "x", made.plain.size(), plain), "bytes after the end are accepted");
    const std::string cut = made.stream.substr(0, random.below(made.stream.size()));
    require(!check_inflate(random, cut, made.plain.size(), plain), "a truncated stream is accepted");
  }
  std::string stream = made.stream, plain;
  mutate(random, stream, made.plain.substr(0, 100));
  check_inflate(random, stream, random.one_in(2) ? made.plain.size() : random.below(2 * made.plain.size() + 300),
                plain);
}

}  // namespace penstock::tests
