// Feeds mutated records and files to the core, under the sanitizers: usage  mutate INPUTS SEED [FIRST]
//
// Whatever the bytes: nothing is read or written outside what is there, memory stays below a small multiple of the
// input, the answer does not depend on how the work is divided, and what decodes also encodes, to a record that decodes
// to the same.
#include <sanitizer/common_interface_defs.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/assembler.h"
#include "tests/columns.h"
#include "tests/memory.h"
#include "tests/odd_messages.h"

namespace penstock::tests {
namespace {

unsigned long current_input = 0, current_seed = 0;

void say_which() { std::fprintf(stderr, "input %lu of seed %lu\n", current_input, current_seed); }

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s: ", what.c_str());
  say_which();
  std::abort();
}

void require(bool holds, const char* what) {
  if (!holds) fail(what);
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// A byte becomes at most an int64 or half a view, in memory that grows by doubling, for each of two features of one
// key.
constexpr std::size_t kMemoryPerByte = 40, kMemoryPerCall = std::size_t{1} << 17;

constexpr std::size_t kLarge = 4000;
std::size_t largest_use = 0;  // bytes of memory per byte of input, of large inputs

class MemoryBound {
 public:
  explicit MemoryBound(std::size_t input) : input_(input), before_(allocated_bytes()) { restart_peak(); }
  ~MemoryBound() {
    const std::size_t used = peak_bytes() - before_;
    if (used > kMemoryPerByte * input_ + kMemoryPerCall)
      fail(std::to_string(used) + " bytes of memory for " + std::to_string(input_) + " of input");
    if (input_ >= kLarge && used / input_ > largest_use) largest_use = used / input_;
  }

 private:
  std::size_t input_, before_;
};

void run_in_turn(std::size_t n, const std::function<void(std::size_t)>& task) {
  for (std::size_t i = 0; i < n; ++i) task(i);
}

// The same record twice, so that what was learned from the first is used on the second.
Chunk chunk_of(const std::string& record, bool guarded) {
  auto spans = std::make_shared<std::vector<Span>>(2, Span{0, record.size()});
  return {place_input(bytes_of(record), guarded), std::move(spans), 0, 2, 0, 0, nullptr};
}

// Every entry, every list, every value, as a reader of whole Examples does it.
bool walk(wire::Bytes message, bool sequence_example) {
  Joined joined;
  return visit_entries(message, sequence_example, joined, [](Section section, const Entry& entry) {
    return section == Section::kContext ? validate_feature(entry.value) : validate_feature_list(entry.value);
  });
}

void check_record(Random& random, BatchDecoder& decoder, FrameBuffer& frames, const std::string& record) {
  const DecodePlan& plan = decoder.plan();
  std::string difference;
  DecodedBatch batch;
  {
    const Chunk chunk = chunk_of(record, random.one_in(2));
    bool sound = false;
    {
      const MemoryBound bound(record.size());
      sound = walk({chunk.buffer->data(), record.size()}, plan.sequence_example);
    }
    if (record.size() >= kLarge) {
      BatchDecoder fresh(plan);  // without memory from before that would hide what it needs
      const MemoryBound bound(record.size());
      static_cast<void>(fresh.decode({chunk.slice(0, 1)}, {}, 1, run_in_turn));
    }
    batch = decoder.decode({chunk}, {}, 1, run_in_turn);
    const DecodedBatch parts = decoder.decode({chunk}, {}, 2, run_in_turn);
    require(batch.fault.fault == parts.fault.fault && batch.fault.row == parts.fault.row, "the fault depends on parts");
    if (batch.fault.fault == ExampleFault::kNone) {
      require(same_batch(plan, batch, parts, difference), "the columns depend on parts");
      require(sound || !plan.validate_all, "malformed bytes were decoded");
    }
    require(!sound || batch.fault.fault != ExampleFault::kMalformed, "a sound record was called malformed");
    if (batch.fault.fault != ExampleFault::kNone) return;

    EncodableBatch encodable(plan, batch);
    frames.release();
    const EncodeResult result =
        encode_rows(encodable.columns(), plan.sequence_example, 0, batch.rows, record.size() * 1000 + 1000, frames);
    require(result.fault == EncodeFault::kNone && result.row == batch.rows, "what was decoded does not encode");
    auto spans = std::make_shared<std::vector<Span>>();
    require(walk_frames(frames.bytes(), kLargestRecord, 0, *spans).state == WalkState::kDone, "frames do not hold");
    const SharedBuffer written = place_input(frames.bytes(), false);
    const std::size_t count = spans->size();
    const DecodedBatch again = decoder.decode({{written, spans, 0, count, 0, 0, nullptr}}, {}, 1, run_in_turn);
    require(again.fault.fault == ExampleFault::kNone, "what was encoded does not decode");
    if (!same_batch(plan, batch, again, difference)) fail("what was encoded decodes to something else, " + difference);

    encodable.corrupt(random);
    encode_rows(encodable.columns(), plan.sequence_example, 0, batch.rows, 1 << 20, frames);
  }
}

// What came out of a file: the payloads, and the fault that ended it.
struct Outcome {
  std::string payloads;
  std::vector<std::uint64_t> fault;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const std::vector<Event>& events) {
  Outcome outcome;
  std::vector<Event> checked;
  for (const Event& event : events) verify(event, checked);
  for (const Event& event : checked) {
    if (const auto* chunk = std::get_if<Chunk>(&event)) {
      for (std::size_t i = 0; i < chunk->size(); ++i) {
        const Span span = chunk->span(i);
        const auto* data = reinterpret_cast<const char*>(chunk->buffer->data());
        outcome.payloads.append(data + span.offset, span.length).append(1, '|');
      }
    } else {
      const auto& fault = std::get<Fault>(event);
      outcome.fault = {static_cast<std::uint64_t>(fault.kind), fault.offset, fault.record, fault.need};
    }
  }
  return outcome;
}

Outcome read_in_pieces(Random& random, const std::string& file, std::size_t longest) {
  AssemblerOptions options;
  options.max_record_bytes = 1 << 16;
  Assembler assembler(options);
  std::vector<Event> events;
  const MemoryBound bound(file.size());
  for (std::size_t at = 0; at < file.size();) {
    const std::size_t size = std::min(file.size() - at, 1 + random.below(longest));
    const std::size_t head = random.below(40);
    const auto buffer = std::make_shared<Buffer>(head + size);
    std::memcpy(buffer->data() + head, file.data() + at, size);
    assembler.add(buffer, head, head + size, events);
    at += size;
  }
  assembler.finish(events);
  return outcome_of(events);
}

void check_file(Random& random, FrameBuffer& frames, const std::string& payload) {
  frames.release();
  for (std::size_t i = random.below(6); i-- > 0;)
    frames.append(bytes_of(payload).first(random.below(std::min<std::size_t>(payload.size(), 100) + 1)));
  std::string file(reinterpret_cast<const char*>(frames.bytes().data()), frames.size());
  if (random.one_in(2)) mutate(random, file, file);
  const Outcome whole = read_in_pieces(random, file, file.size() + 1);
  const Outcome pieces = read_in_pieces(random, file, 1 + random.below(60));
  require(whole == pieces, "a file reads otherwise in pieces");
}

void check(std::size_t input, std::unique_ptr<BatchDecoder>& decoder, FrameBuffer& frames) {
  static std::string message, other;
  Random random(current_seed << 40 ^ input);
  if (!decoder || random.one_in(50)) decoder = std::make_unique<BatchDecoder>(random_plan(random));
  const bool sequence_example = decoder->plan().sequence_example;
  // Making a message takes longer than checking it: each is used some times, whole and mutated.
  if (random.one_in(8) || message.empty()) {
    other = std::move(message);
    message = random.one_in(200) ? crowded_message(random, sequence_example) : odd_message(random, sequence_example);
  }
  std::string record = message;
  if (!random.one_in(8)) mutate(random, record, other);
  check_record(random, *decoder, frames, record);
  if (random.one_in(4)) check_file(random, frames, record);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) {
    std::fputs("usage: mutate INPUTS SEED [FIRST]\n", stderr);
    return 2;
  }
  __sanitizer_set_death_callback(say_which);
  const std::size_t inputs = std::stoul(arguments[1]);
  current_seed = std::stoul(arguments[2]);
  std::unique_ptr<BatchDecoder> decoder;
  FrameBuffer frames;
  for (current_input = count > 3 ? std::stoul(arguments[3]) : 0; current_input < inputs; ++current_input)
    check(current_input, decoder, frames);
  std::printf("%zu mutated inputs, at most %zu bytes of memory per byte\n", inputs, largest_use);
  return 0;
}

}  // namespace penstock::tests

int main(int count, char** arguments) { return penstock::tests::main(count, arguments); }
