// Finds what can be recovered from a damaged file.
//
// Headers are followed from a known record start. Damaged frames are skipped if their end is known, by
//
//  - a length that leads to a record or the end of the file, in a header that is valid, or has one wrong bit or a wrong
//    checksum, if no whole frame reaches out of the payload;
//  - or the payload's checksum: from a broken header on, it is compared at all later headers. What was found in between
//    lies inside that payload.
//
// Otherwise the next whole frame, header and payload, is searched at every byte. Payloads may contain TFRecords, so it
// is not necessarily a record of the file: nested_records.h describes the decision.
//
// So no whole frame is lost: it is a record, or doubtful, or inside a record whose checksums show its extent. Two can
// overlap only with a probability of 2^-32, or if a payload has eight bytes (see frame_probe.h); then both are
// doubtful, unless something decides it.
//
// Time is linear in the size of the region (see FileRegion::checksum), memory in the number of damaged places.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/frame.h"

namespace penstock {

enum class StretchKind : std::uint8_t {
  kWhole,     // consecutive records
  kDoubtful,  // the same, but perhaps inside a payload, or two headers that look like a record
  kLost,      // no records
};

struct Stretch {
  StretchKind kind = StretchKind::kLost;
  std::uint64_t start = 0;
  std::uint64_t stop = 0;
  std::uint64_t records = 0;
  Fault fault;  // of a lost stretch; without the record number
};

struct SalvageScanOptions {
  std::uint64_t start = 0;
  std::uint64_t stop = 0;
  bool starts_at_record = true;  // a record of the file, damaged or not, starts at `start`
  bool ends_with_file = true;    // as far as known, nothing follows `stop`
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  bool flat = false;       // payloads contain no TFRecords: only overlapping frames are doubtful
  bool by_length = false;  // if no known record contains TFRecords, assume that no far longer one does
  std::uint64_t known_from = ~std::uint64_t{0};  // whole records reach from here to `start`, for `by_length`
  const std::atomic<bool>* cancelled = nullptr;  // set by another thread to stop with std::runtime_error
};

struct SalvageScan {
  // They cover the region up to the end of the last one. Doubtful ones may overlap their neighbors, or start a header
  // before the region. The last one ends at `stop`, or after very many of them where another scan can continue.
  std::vector<Stretch> stretches;
  bool ends_at_record =
      false;  // a record of the file is known to start at the end of the last stretch, unless that is `stop`
  std::uint64_t work = 0;  // bytes that were read for checksums, or searched more than once
};

SalvageScan salvage_scan(const std::filesystem::path& path, const SalvageScanOptions& options);

}  // namespace penstock
