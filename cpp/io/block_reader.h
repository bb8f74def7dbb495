// Reads the records of local files, one file after another, in blocks and on several threads.
//
// Threads read blocks and, in parallel, find frames and verify payloads from the first position that looks like a
// frame. Then they enter the assembler one after another, in the order of the stream: it knows whether the guess was
// right, and joins the blocks. If it was wrong, or records are long, the assembler walks from header to header, and
// payloads are verified afterwards. Each thread passes its result to the consumer while the bytes are in its cache. A
// thread has one block at a time, so a consumer that blocks in take() bounds the memory. A file is opened for its first
// block and closed after its last.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/chunk_assembler.h"
#include "io/file.h"

namespace penstock {

// The position of a frame in a list of files.
struct FilePosition {
  std::size_t file = 0;
  std::uint64_t offset = 0;
  std::uint64_t record = 0;
};

// A file is not, or not only, members of gzip as Penstock writes them, or one of them is damaged: what a stream reader
// finds out, which the rows before it do not need.
struct NotMembers : std::runtime_error {
  NotMembers() : std::runtime_error("the file has other data than whole gzip members that state their sizes") {}
};

struct BlockReaderOptions {
  bool verify = true;
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  std::size_t threads = 1;  // at most; includes the thread of the consumer's owner
  std::size_t block_bytes = std::size_t{1} << 20;
  FilePosition start{};                                            // must be the start of a frame or the end of a file
  std::uint64_t rows = std::numeric_limits<std::uint64_t>::max();  // at most
  // A single thread reads this much at a time: it fits the second-level cache of most CPUs.
  std::size_t slice_bytes = std::size_t{256} << 10;
  // The files are gzip members as Penstock writes them: each block is two of them, inflated. They start at record 0,
  // and offsets are those of the inflated data. At anything else, damage included, the stream ends with NotMembers.
  bool members = false;
};

struct Block {
  std::uint64_t number = 0;     // within the stream, from 0
  std::size_t file = 0;         // of the events
  std::uint64_t first_row = 0;  // number, within the stream, of the first record in the events
  std::vector<Event> events;
};

// Called by the reading threads, in parallel.
class BlockConsumer {
 public:
  virtual ~BlockConsumer() = default;

  // Takes a block. Blocks come in any order, but one that waits here never delays an earlier one. Returns whether the
  // stream continues after it.
  virtual bool take(Block block) = 0;

  // The stream ends after this many blocks, with `error` if that is set. Called at least once, unless the reader is
  // destroyed first; of several calls, the lowest number counts.
  virtual void end(std::uint64_t blocks, std::exception_ptr error) = 0;
};

// Threads start with start() and end with the object; in addition, or instead, the consumer's owner reads blocks. In a
// forked child, where the threads do not exist, leak the object instead of destroying it.
class BlockReader {
 public:
  // Opens the first file. `consumer` must outlive the reader.
  BlockReader(std::vector<std::filesystem::path> paths, const BlockReaderOptions& options, BlockConsumer& consumer);
  // Threads that wait in take() must have been told to return.
  ~BlockReader();
  BlockReader(const BlockReader&) = delete;
  BlockReader& operator=(const BlockReader&) = delete;

  // Starts this many threads, or as many as there are blocks for.
  void start(std::size_t count);
  bool started() const;

  // Reads the next block on the calling thread; false if there is none.
  bool read_one();
  // Whether at most one block is left to read.
  bool is_short() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
