#include "core/record_pool.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace penstock {

RecordPool::RecordPool(std::vector<Chunk> chunks) : chunks_(std::move(chunks)), starts_{0} {
  for (const Chunk& chunk : chunks_) starts_.push_back(starts_.back() + chunk.size());
}

std::span<const std::byte> RecordPool::record(std::int64_t number) const {
  const auto place = static_cast<std::size_t>(number);
  if (number < 0 || place >= size()) throw std::out_of_range("no such record");
  const auto after = std::ranges::upper_bound(starts_, place);
  const auto index = static_cast<std::size_t>(after - starts_.begin()) - 1;
  const Span span = chunks_[index].span(place - starts_[index]);
  return {chunks_[index].buffer->data() + span.offset, span.length};
}

Chunk RecordPool::take(std::span<const std::int64_t> records) const {
  std::vector<std::span<const std::byte>> chosen;
  chosen.reserve(records.size());
  auto spans = std::make_shared<std::vector<Span>>();
  spans->reserve(records.size());
  std::size_t total = 0;
  for (const std::int64_t number : records) {
    chosen.push_back(record(number));
    spans->push_back({total, chosen.back().size()});
    total += chosen.back().size();
  }
  SharedBuffer buffer = acquire_buffer(total);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i].empty()) std::memcpy(buffer->data() + (*spans)[i].offset, chosen[i].data(), chosen[i].size());
  }
  // There is no file: assume a header before the first record, so that its offset is not negative.
  return Chunk{std::move(buffer), std::move(spans), 0, records.size(), 0, kHeaderBytes, nullptr};
}

}  // namespace penstock
