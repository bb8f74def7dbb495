#include "io/value_reader.h"

#include <algorithm>
#include <numeric>
#include <system_error>
#include <tuple>

#include "core/crc32c/crc32c.h"

namespace penstock {
namespace {

// Of the bytes that are read, at most a ninth are not wanted.
constexpr std::uint64_t kLengthPerGap = 8;

constexpr std::uint64_t kRunBytes = std::uint64_t{1} << 20;

bool fits(const OpenFile& file, const StoredValue& value) {
  return value.offset <= file.size && value.length <= file.size - value.offset;
}

}  // namespace

// Successive values, in the order of the files, that are read with one call.
struct ValueReader::Run {
  std::size_t first, last;   // in that order
  std::uint64_t begin, end;  // in the file
  std::size_t at;            // in the buffer
};

ReadValues ValueReader::read(std::span<const StoredValue> values) {
  std::vector<std::uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::tuple(values[i].file, values[i].offset, i); });
  ReadValues result;
  result.starts.resize(values.size());
  std::vector<ValueFault> faults(values.size(), ValueFault::kNone);
  std::vector<Run> runs;
  std::size_t total = 0;
  std::shared_ptr<const OpenFile> file;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const StoredValue& value = values[order[i]];
    const bool is_other_file = i == 0 || values[order[i - 1]].file != value.file;
    if (is_other_file) file = files_.open(value.file);
    if (!fits(*file, value)) {
      faults[order[i]] = ValueFault::kTruncated;
      continue;
    }
    const std::uint64_t end = value.offset + value.length;
    const bool joins = !runs.empty() && !is_other_file && runs.back().last == i &&
                       value.offset <= runs.back().end + value.length / kLengthPerGap &&
                       std::max(end, runs.back().end) - runs.back().begin <= kRunBytes;
    if (joins) {
      Run& run = runs.back();
      const std::uint64_t longer = std::max(end, run.end);
      total += static_cast<std::size_t>(longer - run.end);
      run.end = longer;
      run.last = i + 1;
    } else {
      runs.push_back({i, i + 1, value.offset, end, total});
      total += static_cast<std::size_t>(value.length);
    }
    result.starts[order[i]] = runs.back().at + static_cast<std::size_t>(value.offset - runs.back().begin);
  }
  result.buffer = acquire_buffer(std::max<std::size_t>(1, total));
  workers_.run(runs.size(), [&](std::size_t i) { read_run(runs[i], values, order, result, faults); });
  const auto bad = std::ranges::find_if(faults, [](ValueFault fault) { return fault != ValueFault::kNone; });
  if (bad != faults.end()) {
    result.bad = static_cast<std::size_t>(bad - faults.begin());
    result.fault = *bad;
  }
  return result;
}

void ValueReader::read_run(const Run& run, std::span<const StoredValue> values, std::span<const std::uint32_t> order,
                           ReadValues& result, std::vector<ValueFault>& faults) {
  const std::shared_ptr<const OpenFile> file = files_.open(values[order[run.first]].file);
  std::byte* const bytes = result.buffer->data() + run.at;
  std::size_t available = 0;
  try {
    available = file->file.read_at(bytes, static_cast<std::size_t>(run.end - run.begin), run.begin);
  } catch (const std::system_error& error) {
    throw FileError(error, *file->name);
  }
  for (std::size_t i = run.first; i < run.last; ++i) {
    const StoredValue& value = values[order[i]];
    const auto before = static_cast<std::size_t>(value.offset - run.begin);
    const auto length = static_cast<std::size_t>(value.length);
    if (before + length > available)
      faults[order[i]] = ValueFault::kTruncated;
    else if (crc32c(bytes + before, length) != value.checksum)
      faults[order[i]] = ValueFault::kChecksum;
  }
}

}  // namespace penstock
