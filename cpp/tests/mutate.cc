// Feeds mutated records and files to the core, under the sanitizers: usage  mutate INPUTS SEED [FIRST]
#include <sanitizer/common_interface_defs.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/checks.h"
#include "tests/inflate_check.h"
#include "tests/locations_check.h"
#include "tests/odd_messages.h"
#include "tests/rewrite_check.h"
#include "tests/salvage_scan_check.h"

namespace penstock::tests {
namespace {

unsigned long current_input = 0, current_seed = 0;

void say_which() { std::fprintf(stderr, "input %lu of seed %lu\n", current_input, current_seed); }

std::string file_of(Random& random, FrameBuffer& frames, const std::string& payload) {
  frames.release();
  for (std::size_t i = random.below(6); i-- > 0;) {
    const std::size_t size = random.below(std::min<std::size_t>(payload.size(), 100) + 1);
    frames.append(std::as_bytes(std::span(payload)).first(size));
  }
  std::string file(reinterpret_cast<const char*>(frames.bytes().data()), frames.size());
  if (random.one_in(2)) mutate(random, file, file);
  if (random.one_in(4)) seal(file);
  return file;
}

// A damaged file whose records may contain records.
std::string nested_file_of(Random& random, FrameBuffer& frames, const std::string& payload) {
  const std::string inner = file_of(random, frames, payload);
  frames.release();
  for (std::size_t i = 1 + random.below(5); i-- > 0;)
    frames.append(std::as_bytes(std::span(random.one_in(2) ? inner : payload)));
  std::string file(reinterpret_cast<const char*>(frames.bytes().data()), frames.size());
  mutate(random, file, inner);
  return file;
}

void check(std::size_t input, std::unique_ptr<BatchDecoder>& decoder, FrameBuffer& frames) {
  static std::string message, other;
  Random random(current_seed << 40 ^ input);
  if (!decoder || random.one_in(50)) decoder = std::make_unique<BatchDecoder>(random_plan(random));
  const bool sequence_example = decoder->plan().sequence_example;
  // Making a message takes longer than checking it, so each is used several times, whole and mutated.
  if (random.one_in(8) || message.empty()) {
    other = std::move(message);
    message = random.one_in(200) ? crowded_message(random, sequence_example) : odd_message(random, sequence_example);
  }
  std::string record = message;
  if (!random.one_in(8)) mutate(random, record, other);
  check_record(random, *decoder, frames, record);
  check_varint_kernels(random);
  if (random.one_in(4)) check_locations(record, random.one_in(2));
  if (random.one_in(4)) check_rewrite(record, static_cast<unsigned>(random.below(16)));
  if (random.one_in(4)) check_frames(random, file_of(random, frames, record));
  if (random.one_in(8)) check_deflate_stream(random);
  if (random.one_in(30))
    check_salvage_scan(nested_file_of(random, frames, record), static_cast<unsigned>(random.below(16)));
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: mutate INPUTS SEED [FIRST]\n", stderr);
    return 2;
  }
  __sanitizer_set_death_callback(say_which);
  before_death = say_which;
  const std::size_t inputs = std::stoul(arguments[1]);
  current_seed = std::stoul(arguments[2]);
  std::unique_ptr<BatchDecoder> decoder;
  FrameBuffer frames;
  for (current_input = count > 3 ? std::stoul(arguments[3]) : 0; current_input < inputs; ++current_input)
    check(current_input, decoder, frames);
  std::printf("%zu mutated inputs, at most %zu bytes of memory per byte\n", inputs, largest_use());
  return 0;
}

}  // namespace penstock::tests

int main(int count, char** arguments) { return penstock::tests::main(count, arguments); }
