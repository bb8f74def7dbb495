// Finds out what of a damaged file can be saved.
//
// The chain of headers is followed from a place where a record is known to start. A payload that does not match its
// checksum is passed over where the header behind it checks itself, and no whole frame reaches out of it. At any other
// damage the chain is broken, and the next frame that is whole, header and payload, is searched byte by byte. Whether
// such a frame is a record of the file is not certain: it may lie inside the payload of a record that lost its header,
// because payloads may hold TFRecords. What decides it:
//
//  - The bytes between a broken header and a frame are a payload with its checksum: there the next record starts, and
//    all frames in between lie inside that payload.
//  - The chain that a frame starts ends exactly where the file ends: these are records of the file, for a payload has
//    its checksum behind it.
//  - Behind a damaged payload records go on where its header says. If what follows them looks like the end of a
//  payload,
//    and payloads hold TFRecords, they are in doubt: bytes may be missing, and a record inside a payload stand there.
//  - A frame that lies where a header that checks itself claims a payload is in doubt, whatever follows.
//  - All others are in doubt where payloads may hold TFRecords.
//
// Time is linear in the size of the region (see Region::checksum), memory in the number of damaged places.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/frame.h"

namespace penstock {

enum class StretchKind : std::uint8_t {
  kWhole,     // records, one behind the other
  kDoubtful,  // the same, but perhaps inside a payload
  kLost,      // no record
};

struct Stretch {
  StretchKind kind = StretchKind::kLost;
  std::uint64_t start = 0;
  std::uint64_t stop = 0;
  std::uint64_t records = 0;
  Fault fault;  // of what is lost; its record number is not set
};

struct SurveyOptions {
  std::uint64_t start = 0;
  std::uint64_t stop = 0;
  bool starts_at_record = true;  // a record of the file starts at `start`, damaged or not
  bool ends_with_file = true;    // behind `stop` nothing follows, as far as is known
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  // Whether payloads may hold TFRecords. Where that is not known they may if one does among those that are looked at,
  // or if a chain ends in a way that needs no second damage to explain it.
  std::optional<bool> nested;
  const std::atomic<bool>* cancelled = nullptr;  // another thread's wish to end it: std::runtime_error is thrown
};

struct Survey {
  // They tile the region up to the last one's end. That is `stop`, or after very many of them a place where a record
  // starts, from which another survey goes on.
  std::vector<Stretch> stretches;
  std::uint64_t work = 0;  // bytes that were read for checksums
};

Survey survey(const std::filesystem::path& path, const SurveyOptions& options);

}  // namespace penstock
