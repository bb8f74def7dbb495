// Finds where the records of a local file are by walking from header to header, on several threads.
//
// A span of the file is cut into pieces. A thread looks for the first header in its piece that checks itself and walks
// on from there; that may be a place inside a payload that looks like a frame. So the pieces are joined in order, from
// a place that is known to be true: a piece counts from where the true walk meets its first frame, and where the two
// never meet it is walked again. A false header costs time, never more than in proportion to the file, and nothing
// else.
//
// Payloads are not checked, and not even read where they are large. For one caller at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/frame.h"
#include "io/file.h"
#include "io/workers.h"

namespace penstock {

struct HeaderWalkOptions {
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  std::size_t threads = 1;
  std::size_t piece_bytes = std::size_t{2} << 20;
  bool keep_lengths = false;  // or count alone
};

// Frames that follow each other without a gap.
struct FrameRun {
  std::uint64_t start = 0;  // of the first frame
  std::uint64_t end = 0;    // behind the last
  std::uint64_t count = 0;
  std::vector<std::uint64_t> lengths;  // of the payloads, where they are kept
};

class HeaderWalk {
 public:
  HeaderWalk(const std::filesystem::path& path, const HeaderWalkOptions& options);

  // Walks over the frames that start in the next `bytes` bytes. False when the file's end or a fault was reached.
  // Throws std::system_error, also when the file became shorter since it was opened.
  bool advance(std::uint64_t bytes);

  std::uint64_t file_size() const { return file_size_; }
  std::uint64_t position() const { return found_.end; }  // where the next frame starts
  std::uint64_t records() const { return found_.count; }
  const Fault& fault() const { return fault_; }

  // The payloads' lengths since they were last taken.
  std::vector<std::uint64_t> take_lengths() { return std::move(found_.lengths); }

 private:
  void walk_pieces(std::uint64_t stop);

  const HeaderWalkOptions options_;
  const File file_;
  const std::uint64_t file_size_;
  Workers workers_;
  FrameRun found_;
  Fault fault_;
};

}  // namespace penstock
