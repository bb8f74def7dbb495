#include "core/stats/value_counts.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace penstock {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  x ^= x >> 32;
  x *= 0xD6E8FEB86659FD93u;
  return x ^ x >> 32;
}

std::uint64_t hash_of(std::span<const std::byte> value) {
  if (value.size() == 8) {  // integers, most often
    std::uint64_t word;
    std::memcpy(&word, value.data(), 8);
    return mixed(word + 0x9E3779B97F4A7C15u);
  }
  std::uint64_t hash = mixed(value.size() + 0x9E3779B97F4A7C15u);
  for (; value.size() >= 8; value = value.subspan(8)) {
    std::uint64_t word;
    std::memcpy(&word, value.data(), 8);
    hash = mixed(hash ^ word);
  }
  std::uint64_t rest = 0;
  if (!value.empty()) std::memcpy(&rest, value.data(), value.size());
  return mixed(hash ^ rest);
}

}  // namespace

void ValueCounts::add(std::span<const std::byte> value, std::uint64_t times) {
  const std::uint64_t hash = hash_of(value);
  if (!exact_) {
    estimate(hash);
    if (times == 1 && ++seen_ % kSampled != 0) return;
    if (times == 1) times = kSampled;
  }
  if (Entry* entry = find(hash, value, exact_)) {
    entry->count += times;
  } else if (exact_) {
    start_estimates();
    estimate(hash);
  }
}

// Values of many colliding hashes count as too many: looking for one must not take long.
ValueCounts::Entry* ValueCounts::find(std::uint64_t hash, std::span<const std::byte> value, bool inserts) {
  constexpr std::size_t kMostProbes = 32;
  if (slots_.empty() && !inserts) return nullptr;
  if (inserts && slots_.size() < 2 * (entries_.size() + 1)) grow();
  for (std::size_t i = 0; i < kMostProbes; ++i) {
    std::uint32_t& slot = slots_[(hash + i) & (slots_.size() - 1)];
    if (slot == 0) {
      if (!inserts || entries_.size() == kMostExact) return nullptr;
      entries_.push_back({std::string(reinterpret_cast<const char*>(value.data()), value.size())});
      hashes_.push_back(hash);
      slot = static_cast<std::uint32_t>(entries_.size());
      return &entries_.back();
    }
    Entry& entry = entries_[slot - 1];
    if (hashes_[slot - 1] == hash && entry.value.size() == value.size() &&
        std::memcmp(entry.value.data(), value.data(), value.size()) == 0)
      return &entry;
  }
  return nullptr;
}

void ValueCounts::grow() {
  slots_.assign(std::max<std::size_t>(64, 2 * slots_.size()), 0);
  for (std::size_t entry = 0; entry < entries_.size(); ++entry) {
    std::size_t at = hashes_[entry];
    while (slots_[at & (slots_.size() - 1)] != 0) ++at;
    slots_[at & (slots_.size() - 1)] = static_cast<std::uint32_t>(entry + 1);
  }
}

void ValueCounts::start_estimates() {
  exact_ = false;
  registers_.assign(kRegisters, 0);
  for (const std::uint64_t hash : hashes_) estimate(hash);
}

void ValueCounts::estimate(std::uint64_t hash) {
  std::uint8_t& longest = registers_[hash % kRegisters];
  longest = std::max(longest, static_cast<std::uint8_t>(1 + std::countl_zero(hash | (kRegisters - 1))));
}

void ValueCounts::merge(const ValueCounts& other) {
  if (!other.exact_ && exact_) start_estimates();
  if (!other.exact_)
    for (std::size_t i = 0; i < kRegisters; ++i) registers_[i] = std::max(registers_[i], other.registers_[i]);
  for (const Entry& entry : other.entries_) {
    const auto value = std::as_bytes(std::span(entry.value));
    const std::uint64_t hash = hash_of(value);
    Entry* found = find(hash, value, true);
    if (!exact_) estimate(hash);
    if (found != nullptr) {
      found->count += entry.count;
    } else if (exact_) {
      start_estimates();
      estimate(hash);
    }
  }
}

std::uint64_t ValueCounts::distinct() const {
  if (exact_) return entries_.size();
  double sum = 0, zeros = 0;
  for (const std::uint8_t longest : registers_) {
    sum += std::ldexp(1.0, -longest);
    zeros += longest == 0;
  }
  constexpr double m = kRegisters;
  const double raw = 0.7213 / (1 + 1.079 / m) * m * m / sum;
  const double estimate = raw < 2.5 * m && zeros != 0 ? m * std::log(m / zeros) : raw;
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(estimate + 0.5), entries_.size());
}

std::vector<ValueCounts::Entry> ValueCounts::top(std::size_t most) const {
  std::vector<Entry> top(std::min(most, entries_.size()));
  std::partial_sort_copy(entries_.begin(), entries_.end(), top.begin(), top.end(), [](const Entry& a, const Entry& b) {
    return a.count != b.count ? a.count > b.count : a.value < b.value;
  });
  return top;
}

}  // namespace penstock
