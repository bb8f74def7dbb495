// Finds the records of a local file by walking from header to header, on several threads.
//
// A range of the file is cut into pieces. A thread finds the first valid header in its piece and walks from there; that
// may be a position inside a payload that looks like a frame. So the pieces are joined in order, from a known position:
// a piece counts from where the real walk meets its first frame; if they never meet, the piece is walked again. A false
// header costs only time, at most in proportion to the file.
//
// Payloads are not checked, and large ones are not read. For one caller at a time.
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
  bool keep_lengths = false;  // otherwise only count
};

// Frames that follow each other without a gap.
struct FrameRun {
  std::uint64_t start = 0;  // of the first frame
  std::uint64_t end = 0;    // after the last frame
  std::uint64_t count = 0;
  std::vector<std::uint64_t> lengths;  // of the payloads, if kept
};

class HeaderWalk {
 public:
  HeaderWalk(const std::filesystem::path& path, const HeaderWalkOptions& options);

  // Walks the frames that start in the next `bytes` bytes. False if the file's end or a fault was reached. Throws
  // std::system_error, also if the file became shorter since it was opened.
  bool advance(std::uint64_t bytes);

  std::uint64_t file_size() const { return file_size_; }
  std::uint64_t position() const { return found_.end; }  // where the next frame starts
  std::uint64_t records() const { return found_.count; }
  const Fault& fault() const { return fault_; }

  // Returns the payload lengths since the last call.
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
