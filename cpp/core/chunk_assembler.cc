#include "core/chunk_assembler.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace penstock {

void append(Event event, std::vector<Event>& events) {
  auto* last = events.empty() ? nullptr : std::get_if<Chunk>(&events.back());
  const auto* chunk = std::get_if<Chunk>(&event);
  if (last != nullptr && chunk != nullptr && last->spans == chunk->spans && last->end == chunk->begin)
    last->end = chunk->end;
  else
    events.push_back(std::move(event));
}

void ChunkAssembler::add(const SharedBuffer& buffer, std::size_t begin, std::size_t end, std::vector<Event>& events) {
  while (!failed_ && begin < end) {
    if (long_record_) {
      begin += extend_long_record(buffer->data() + begin, end - begin);
      if (tail_.size < need_) return;
      const Tail whole = std::exchange(tail_, {});
      long_record_ = false;
      walk(whole.buffer, 0, whole.size, events);
    } else if (tail_.size > begin) {
      start_long_record();
    } else {
      begin -= tail_.size;
      // A block that continues the last one in the same buffer already has the start of its record in front of it.
      if (tail_.size != 0 && tail_.buffer != buffer) copy_tail(buffer, buffer->data() + begin);
      tail_ = {};
      return walk(buffer, begin, end, events);
    }
  }
}

bool ChunkAssembler::add_scanned(const SharedBuffer& buffer, const BlockScan& scanned, std::vector<Event>& events) {
  // The previous block ended with a complete frame, so the next frame starts where the scan did.
  if (failed_ || tail_.size != 0) return false;
  const std::shared_ptr<std::vector<Span>>& spans = scanned.spans;
  auto* last = events.empty() ? nullptr : std::get_if<Chunk>(&events.back());
  if (last != nullptr && last->buffer == buffer && last->size() == BlockScan::kSpareSpans) {
    // A record that began in the previous block: in the same list, it can join the same chunk.
    spans->front() = last->span(0);
    last->spans = spans;
    last->begin = 0;
    last->end = BlockScan::kSpareSpans;
  }
  const std::size_t count = spans->size() - BlockScan::kSpareSpans;
  events.push_back(Chunk{buffer, spans, BlockScan::kSpareSpans, spans->size(), record_,
                         static_cast<std::int64_t>(offset_) - static_cast<std::int64_t>(scanned.begin),
                         options_.source});
  record_ += count;
  offset_ += scanned.end - scanned.begin;
  return true;
}

// Returns the list for spans in `buffer`: that of the last chunk if it has the same buffer, otherwise a new one.
std::shared_ptr<std::vector<Span>> ChunkAssembler::spans_for(const SharedBuffer& buffer,
                                                             const std::vector<Event>& events) {
  const auto* last = events.empty() ? nullptr : std::get_if<Chunk>(&events.back());
  if (last != nullptr && last->buffer == buffer && last->spans == spans_) return spans_;
  const std::size_t expected_records = spans_ ? spans_->size() : 0;
  spans_ = std::make_shared<std::vector<Span>>();
  spans_->reserve(expected_records + expected_records / 8 + 1);
  return spans_;
}

void ChunkAssembler::walk(const SharedBuffer& buffer, std::size_t begin, std::size_t end, std::vector<Event>& events) {
  WalkResult result = walk_to_damage(buffer, begin, end, events);
  while (result.fault == FaultKind::kDataChecksum) {
    events.push_back(Fault{result.fault, offset_, record_, result.need, result.need});
    ++record_;
    offset_ += result.need;
    begin += result.consumed + static_cast<std::size_t>(result.need);
    result = walk_to_damage(buffer, begin, end, events);
  }
  const std::size_t left = end - begin - result.consumed;
  if (result.state == WalkState::kDone) return;
  need_ = result.need;
  const std::uint64_t have = options_.input_end ? *options_.input_end - offset_ : left;
  if (result.state == WalkState::kFault) return fail(result.fault, need_, have, events);
  if (options_.input_end && need_ > have)
    return fail(left < kHeaderBytes ? FaultKind::kTruncatedHeader : FaultKind::kTruncatedRecord, need_, have, events);
  tail_ = {buffer, begin + result.consumed, left};
}

// Appends a chunk of the records up to the end of the block or the first damaged one.
WalkResult ChunkAssembler::walk_to_damage(const SharedBuffer& buffer, std::size_t begin, std::size_t end,
                                          std::vector<Event>& events) {
  auto spans = spans_for(buffer, events);
  const std::size_t first = spans->size();
  const WalkResult result =
      walk_frames({buffer->data() + begin, end - begin}, options_.max_record_bytes, begin, options_.verify, *spans);
  if (const std::size_t count = spans->size() - first; count != 0) {
    append(Chunk{buffer, std::move(spans), first, first + count, record_,
                 static_cast<std::int64_t>(offset_) - static_cast<std::int64_t>(begin), options_.source},
           events);
    record_ += count;
  }
  offset_ += result.consumed;
  return result;
}

// Copies the tail in front of a block. To walk on, its header suffices.
void ChunkAssembler::copy_tail(const SharedBuffer& buffer, std::byte* target) {
  const std::byte* source = tail_.buffer->data() + tail_.begin;
  const std::size_t now = options_.defers_copies ? std::min<std::size_t>(tail_.size, kHeaderBytes) : tail_.size;
  std::memcpy(target, source, now);
  copy_ = {tail_.buffer, buffer, source + now, target + now, tail_.size - now};
}

DeferredCopy ChunkAssembler::take_copy() {
  // The next block continues the same record, on another thread.
  if (tail_.size != 0 && tail_.buffer == copy_.to && tail_.buffer->data() + tail_.begin < copy_.target + copy_.size)
    copy_.run();
  return std::exchange(copy_, {});
}

// Moves the tail to a buffer of its own, where it can grow.
void ChunkAssembler::start_long_record() {
  copy_.run();
  const Tail tail = std::exchange(tail_, {});
  long_record_ = true;
  extend_long_record(tail.buffer->data() + tail.begin, tail.size);
}

// Appends what the record still needs from `data`; returns the number of bytes taken.
std::size_t ChunkAssembler::extend_long_record(const std::byte* data, std::size_t size) {
  const auto taken = static_cast<std::size_t>(std::min<std::uint64_t>(need_ - tail_.size, size));
  const std::size_t grown = tail_.size + taken;
  if (!tail_.buffer || tail_.buffer->capacity() < grown) {
    SharedBuffer larger = acquire_buffer(static_cast<std::size_t>(std::min<std::uint64_t>(need_, 2 * grown)));
    if (tail_.size != 0) std::memcpy(larger->data(), tail_.buffer->data(), tail_.size);
    tail_.buffer = std::move(larger);
  }
  std::memcpy(tail_.buffer->data() + tail_.size, data, taken);
  tail_.size = grown;
  return taken;
}

void ChunkAssembler::finish(std::vector<Event>& events) {
  if (failed_ || tail_.size == 0) return;
  fail(tail_.size < kHeaderBytes ? FaultKind::kTruncatedHeader : FaultKind::kTruncatedRecord, need_, tail_.size,
       events);
}

void ChunkAssembler::fail(FaultKind kind, std::uint64_t need, std::uint64_t have, std::vector<Event>& events) {
  failed_ = true;
  tail_ = {};
  events.push_back(Fault{kind, offset_, record_, need, have});
}

void verify(const Event& event, std::vector<Event>& events) {
  if (std::holds_alternative<Fault>(event)) {
    events.push_back(event);
    return;
  }
  const Chunk& chunk = std::get<Chunk>(event);
  const std::byte* data = chunk.buffer->data();
  std::size_t from = 0;
  while (from < chunk.size()) {
    const std::span<const Span> spans{chunk.spans->data() + chunk.begin, chunk.size()};
    const std::size_t bad = find_invalid(data, spans, from);
    if (bad > from) append(chunk.slice(from, bad), events);
    if (bad == chunk.size()) return;
    const std::uint64_t size = spans[bad].length + kFrameOverhead;
    events.push_back(Fault{FaultKind::kDataChecksum, chunk.frame_offset(bad), chunk.first_record + bad, size, size});
    from = bad + 1;
  }
}

}  // namespace penstock
