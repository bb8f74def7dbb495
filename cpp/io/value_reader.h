// Reads single values out of records, by their positions in files, and checks each by its own checksum.
//
// An index, which may be stale or wrong, gives the positions. Values are read in the order of the files; neighbors are
// read together where little lies between them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer.h"
#include "io/open_files.h"
#include "io/workers.h"

namespace penstock {

struct StoredValue {
  std::size_t file;
  std::uint64_t offset;
  std::uint64_t length;
  std::uint32_t checksum;  // CRC32C
};

enum class ValueFault : std::uint8_t { kNone, kTruncated, kChecksum };

struct ReadValues {
  SharedBuffer buffer;
  std::vector<std::size_t> starts;  // of each value in the buffer; values can overlap
  std::size_t bad = 0;              // the first value with a fault, if there is one
  ValueFault fault = ValueFault::kNone;
};

// Thread-safe.
class ValueReader {
 public:
  ValueReader(std::vector<std::filesystem::path> paths, std::size_t threads, std::size_t max_open)
      : files_(std::move(paths), max_open), workers_(threads) {}

  // Files must be below the number of paths. Nothing larger than the files is allocated for any value.
  ReadValues read(std::span<const StoredValue> values);

 private:
  struct Run;
  void read_run(const Run& run, std::span<const StoredValue> values, std::span<const std::uint32_t> order,
                ReadValues& result, std::vector<ValueFault>& faults);

  OpenFiles files_;
  Workers workers_;
};

}  // namespace penstock
