#include "tests/checks.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/chunk_assembler.h"
#include "core/crc32c/crc32c.h"
#include "core/example/packed_varints.h"
#include "core/example/value_digest.h"
#include "core/example/varint_kernels.h"
#include "tests/memory.h"
#include "tests/odd_messages.h"

namespace penstock::tests {
namespace {

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  before_death();
  std::abort();
}

}  // namespace

void require(bool holds, const char* what) {
  if (!holds) fail(what);
}

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// A byte becomes at most an int64 or half a view, in memory that grows by doubling, for each of two features with one
// key.
constexpr std::size_t kMemoryPerByte = 40, kMemoryPerCall = std::size_t{1} << 17;

constexpr std::size_t kLarge = 4000;
std::size_t largest = 0;

class MemoryBound {
 public:
  explicit MemoryBound(std::size_t input) : input_(input), before_(allocated_bytes()) { restart_peak(); }
  ~MemoryBound() {
    const std::size_t used = peak_bytes() - before_;
    if (used > kMemoryPerByte * input_ + kMemoryPerCall)
      fail(std::to_string(used) + " bytes of memory for " + std::to_string(input_) + " of input");
    if (input_ >= kLarge && used / input_ > largest) largest = used / input_;
  }

 private:
  std::size_t input_, before_;
};

void run_sequentially(std::size_t n, const std::function<void(std::size_t)>& task) {
  for (std::size_t i = 0; i < n; ++i) task(i);
}

// The same record twice, so that what was learned from the first is used on the second.
Chunk chunk_of(const std::string& record, bool guarded) {
  auto spans = std::make_shared<std::vector<Span>>(2, Span{0, record.size()});
  return {place_input(bytes_of(record), guarded), std::move(spans), 0, 2, 0, 0, nullptr};
}

// Reads every entry, list and value.
bool walk(wire::Bytes message, bool sequence_example) {
  Joined joined;
  return visit_entries(message, sequence_example, joined, [](Section section, const MapEntry& entry) {
    return section == Section::kContext ? validate_feature(entry.value) : validate_feature_list(entry.value);
  });
}

// The result of reading a file: its payloads, and the fault that ended it.
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
  ChunkAssemblerOptions options;
  options.max_record_bytes = 1 << 16;
  options.verify = random.one_in(2);
  ChunkAssembler assembler(options);
  std::vector<Event> events;
  const MemoryBound bound(file.size());
  for (std::size_t at = 0; at < file.size();) {
    const std::size_t size = std::min(file.size() - at, 1 + random.below(longest));
    const std::size_t head = random.below(40);
    const auto buffer = std::make_shared<Buffer>(head + size);
    std::memcpy(buffer->data() + head, file.data() + at, size);
    std::size_t begin = head;
    if (random.one_in(2)) {
      const BlockScan scanned =
          scan_block(buffer->data(), head, head + size, {options.max_record_bytes, random.one_in(2), at == 0});
      if (!scanned.is_empty()) {
        assembler.add(buffer, head, scanned.begin, events);
        begin = assembler.add_scanned(buffer, scanned, events) ? scanned.end : scanned.begin;
      }
    }
    assembler.add(buffer, begin, head + size, events);
    at += size;
  }
  assembler.finish(events);
  return outcome_of(events);
}

bool is_header(const std::string& file, std::size_t at) {
  const auto* bytes = reinterpret_cast<const std::byte*>(file.data()) + at;
  return mask_crc(crc32c_extend(0, bytes, 8)) == load_le32(bytes + 8);
}

std::size_t find_header_slowly(const std::string& file, std::size_t at) {
  for (; at + kHeaderBytes <= file.size(); ++at)
    if (is_header(file, at)) return at;
  return file.size();
}

}  // namespace

void check_record(Random& random, BatchDecoder& decoder, FrameBuffer& frames, const std::string& record) {
  const DecodePlan& plan = decoder.plan();
  std::string difference;
  DecodedBatch batch;
  {
    const Chunk chunk = chunk_of(record, random.one_in(2));
    bool valid = false;
    {
      const MemoryBound bound(record.size());
      valid = walk({chunk.buffer->data(), record.size()}, plan.sequence_example);
    }
    const std::string_view key = kKeys[random.below(std::size(kKeys))];
    ExampleDigester digester(key, 7);
    const ExampleDigest here = digester.digest({chunk.buffer->data(), record.size()});
    const ExampleDigest copy = digester.digest({reinterpret_cast<const std::byte*>(record.data()), record.size()});
    require(here.values == copy.values && here.key == copy.key, "equal records have different digests");
    if (record.size() >= kLarge) {
      BatchDecoder fresh(plan);  // without reused memory, which would hide what it needs
      const MemoryBound bound(record.size());
      static_cast<void>(fresh.decode({chunk.slice(0, 1)}, {}, 1, run_sequentially));
    }
    batch = decoder.decode({chunk}, {}, 1, run_sequentially);
    const DecodedBatch parts = decoder.decode({chunk}, {}, 2, run_sequentially);
    require(batch.fault.fault == parts.fault.fault && batch.fault.row == parts.fault.row, "the fault depends on parts");
    if (batch.fault.fault == ExampleFault::kNone) {
      require(same_batch(plan, batch, parts, difference), "the columns depend on parts");
      require(valid || !plan.validate_all, "malformed bytes were decoded");
    }
    require(!valid || batch.fault.fault != ExampleFault::kMalformed, "a valid record was called malformed");
    if (batch.fault.fault != ExampleFault::kNone) return;

    EncodableBatch encodable(plan, batch);
    frames.release();
    const EncodeResult result =
        encode_rows(encodable.columns(), plan.sequence_example, 0, batch.rows, record.size() * 1000 + 1000, frames);
    require(result.fault == EncodeFault::kNone && result.row == batch.rows, "what was decoded does not encode");
    auto spans = std::make_shared<std::vector<Span>>();
    require(walk_frames(frames.bytes(), kLargestRecord, 0, true, *spans).state == WalkState::kDone,
            "frames do not hold");
    const SharedBuffer written = place_input(frames.bytes(), false);
    const std::size_t count = spans->size();
    const DecodedBatch again = decoder.decode({{written, spans, 0, count, 0, 0, nullptr}}, {}, 1, run_sequentially);
    require(again.fault.fault == ExampleFault::kNone, "what was encoded does not decode");
    if (!same_batch(plan, batch, again, difference)) fail("what was encoded decodes to something else, " + difference);

    encodable.corrupt(random);
    encode_rows(encodable.columns(), plan.sequence_example, 0, batch.rows, 1 << 20, frames);
  }
}

void check_varint_kernels(Random& random) {
  // At the end of the memory, as a run may be; a sanitizer detects reads after it.
  const std::size_t size = 1 + random.below(64), reach = std::max(size, kVarintReach) + random.below(2) * 20;
  std::vector<std::byte> bytes(reach);
  bytes.shrink_to_fit();
  std::uint64_t ends = 0;
  const std::size_t length = 1 + random.below(11);  // of the values, roughly
  const std::size_t start = random.below(reach - size + 1);
  for (std::size_t i = 0; i < reach; ++i) {
    const bool ends_here = random.one_in(length);
    bytes[i] = static_cast<std::byte>(random.below(128) | (ends_here ? 0 : 128));
    if (ends_here && i >= start && i < start + size) ends |= std::uint64_t{1} << (i - start);
  }
  if (ends == 0) return;
  const std::byte* p = bytes.data() + start;
  std::vector<std::int64_t> expected;
  bool good = true;
  const std::byte* at = p;
  for (std::uint64_t value; good && expected.size() < static_cast<std::size_t>(std::popcount(ends));) {
    good = wire::read_varint(at, bytes.data() + reach, value);
    expected.push_back(static_cast<std::int64_t>(value));
  }
  for (const VarintKernel& kernel : varint_kernels()) {
    std::vector<std::int64_t> values(expected.size() + kVarintSlack);
    std::int64_t* out = values.data();
    const std::size_t taken = kernel.decode(p, bytes.data() + reach, ends, out);
    require((taken == kMalformedRun) == !good, kernel.name);
    if (!good) continue;
    values.resize(expected.size());
    require(taken == static_cast<std::size_t>(at - p) && out == values.data() + expected.size(), kernel.name);
    require(values == expected, kernel.name);
  }
}

void check_frames(Random& random, const std::string& file) {
  const Outcome whole = read_in_pieces(random, file, file.size() + 1);
  const Outcome pieces = read_in_pieces(random, file, 1 + random.below(60));
  require(whole == pieces, "a file reads differently in pieces");
  const SharedBuffer input = place_input(bytes_of(file), true);
  const std::size_t start = random.below(file.size() + 1);
  require(find_header({input->data(), file.size()}, start) == find_header_slowly(file, start), "a header is missed");
}

void seal(std::string& file) {
  auto* bytes = reinterpret_cast<std::byte*>(file.data());
  for (std::size_t at = 0; file.size() - at >= kHeaderBytes;) {
    const std::uint64_t length = load_le64(bytes + at), left = file.size() - at - kHeaderBytes;
    store_le32(bytes + at + 8, mask_crc(crc32c_extend(0, bytes + at, 8)));
    if (left < kFooterBytes || length > left - kFooterBytes) return;
    at += kHeaderBytes + static_cast<std::size_t>(length);
    store_le32(bytes + at, mask_crc(crc32c_extend(0, bytes + at - length, static_cast<std::size_t>(length))));
    at += kFooterBytes;
  }
}

std::size_t largest_use() { return largest; }

}  // namespace penstock::tests
