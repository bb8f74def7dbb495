// Finds out what of a damaged file can be saved.
//
// The headers are followed from a place where a record is known to start. Damaged frames whose end is known are passed
// over. It is known by
//
//  - a length that a record, or the end of the file, stands behind, in a header that checks itself, or would but for
//  one
//    bit, or but for its checksum; if no whole frame reaches out of the payload,
//  - or the checksum of the payload: from a broken header on, it is compared at all headers that follow. What was found
//    in between lies inside that payload.
//
// Elsewhere the next frame that is whole, header and payload, is searched, at every byte. Whether it is a record of the
// file is not certain, because payloads may hold TFRecords: chains.h tells what decides it.
//
// So no whole frame is lost: it is a record, or in doubt, or it lies inside a record whose checksums show its extent.
// It cannot overlap another one but by chance in 2^32, or as frame_judge.h tells of payloads of eight bytes; then both
// are in doubt, if nothing decides it.
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
  kWhole,     // records, one behind the other
  kDoubtful,  // the same, but perhaps inside a payload, or two headers that look like a record
  kLost,      // no record
};

struct Stretch {
  StretchKind kind = StretchKind::kLost;
  std::uint64_t start = 0;
  std::uint64_t stop = 0;
  std::uint64_t records = 0;
  Fault fault;  // of what is lost; its record number is not set
};

struct SalvageScanOptions {
  std::uint64_t start = 0;
  std::uint64_t stop = 0;
  bool starts_at_record = true;  // a record of the file starts at `start`, damaged or not
  bool ends_with_file = true;    // behind `stop` nothing follows, as far as is known
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  bool flat = false;       // payloads hold no TFRecords: only frames that overlap are in doubt
  bool by_length = false;  // where no record known holds TFRecords, none is taken to be far longer to hold some
  std::uint64_t known_from = ~std::uint64_t{0};  // whole records reach from here to `start`: `by_length` compares them
  const std::atomic<bool>* cancelled = nullptr;  // another thread's wish to end it: std::runtime_error is thrown
};

struct SalvageScan {
  // They tile the region up to the end of the last one, but for doubtful ones, which may overlap those around them, or
  // start a header before the region. That is `stop`, or after very many of them a place from which another survey goes
  // on.
  std::vector<Stretch> stretches;
  bool ends_at_record = false;  // a record of the file is known to start at the last one's end, unless it is `stop`
  std::uint64_t work = 0;       // bytes that were read for checksums, or searched more than once
};

SalvageScan salvage_scan(const std::filesystem::path& path, const SalvageScanOptions& options);

}  // namespace penstock
