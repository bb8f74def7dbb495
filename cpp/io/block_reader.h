// Reads the records of local files, one file after another, in blocks and on several threads.
//
// Threads read blocks, find the frames in them and verify payloads in parallel, from the first place that looks like a
// frame. Then they pass through the assembler one after another in the order of the stream: it knows whether that was
// right, and joins the blocks. Where it was not, or records are long, the assembler walks from header to header, and
// payloads are verified after that. Each thread hands what it found to the consumer while the bytes are in its cache.
// Each thread has one block at a time: a consumer that makes take() wait holds memory still. Files are opened when
// their first block is due and closed behind their last.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <vector>

#include "core/chunk_assembler.h"
#include "io/file.h"

namespace penstock {

// A frame in a list of files.
struct FilePosition {
  std::size_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t record = 0;
};

struct BlockReaderOptions {
  bool verify = true;
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  std::size_t threads = 1;  // that read side by side, at most; that of the consumer's owner counts
  std::size_t block_bytes = std::size_t{1} << 20;
  FilePosition start{};                                            // must be where a frame starts, or a file ends
  std::uint64_t rows = std::numeric_limits<std::uint64_t>::max();  // where to end
  // A thread that is alone reads so much, then looks at it: what the second-level cache of most CPUs holds.
  std::size_t slice_bytes = std::size_t{256} << 10;
};

struct Block {
  std::uint64_t number = 0;     // in the stream, from 0
  std::size_t file = 0;         // that the events are about
  std::uint64_t first_row = 0;  // number, in the stream, of the first record in the events
  std::vector<Event> events;
};

// Called by the reading threads, side by side.
class BlockConsumer {
 public:
  virtual ~BlockConsumer() = default;

  // Blocks come in any order, but a block that waits here never keeps an earlier one from coming. Answers whether the
  // stream goes on behind this block.
  virtual bool take(Block block) = 0;

  // The stream has this many blocks, and then there is `error`, if it is one. Called at least once, unless the reader
  // goes before; of several calls the lowest number counts.
  virtual void end(std::uint64_t blocks, std::exception_ptr error) = 0;
};

// Threads start with start() and end with the object; without it or besides, the consumer's owner reads blocks. In a
// forked child, where they do not exist, an object must be leaked, not destroyed.
class BlockReader {
 public:
  // Opens the first file. `consumer` must outlive the reader.
  BlockReader(std::vector<std::filesystem::path> paths, const BlockReaderOptions& options, BlockConsumer& consumer);
  // Whoever waits in take() must have been told to return.
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // Starts so many threads, or as many as there is work for.
  void start(std::size_t count);
  bool started() const;

  // Reads the next block on the calling thread; false where there is none.
  bool read_one();
  // Whether all that is to be read is one block, at most.
  bool is_short() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
