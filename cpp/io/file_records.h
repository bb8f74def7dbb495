// The records of a local file, in order, read ahead of the consumer by a BlockReader.
//
// At most 2 * threads + 12 blocks are in flight, so a slow consumer does not increase memory. Threads start at the
// first next() and end with the object; they never touch Python. The caller reads a file of one block itself, and every
// file if there is only one CPU.
//
// next() is for one consumer at a time. The destructor may run on any thread; in a forked child, where the threads do
// not exist, it does not wait for them.
//
// With a function that accepts chunks, records are consumed, not returned: the thread that reads a block also decodes
// it and drops the result, so that each works in the same few cache lines.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <variant>

#include "core/chunk_assembler.h"
#include "io/block_reader.h"

namespace penstock {

struct EndOfRecords {};
struct NotYet {};
// The number of records that were decoded and dropped, and the bytes of their frames.
struct ValidRecords {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;  // of the frames, if requested
};
using NextEvent = std::variant<Chunk, Fault, ValidRecords, EndOfRecords, NotYet>;

class FileRecords {
 public:
  // Whether all records of a chunk are valid. Called by the reading threads, in parallel.
  using Accept = std::function<bool(const Chunk&)>;

  // With `accept`, chunks are returned only if it returns false; others are counted in ValidRecords, with `checksum`
  // including that of their frames.
  FileRecords(const std::filesystem::path& path, const BlockReaderOptions& options, Accept accept = {},
              bool checksum = false);
  ~FileRecords();
  FileRecords(const FileRecords&) = delete;
  FileRecords& operator=(const FileRecords&) = delete;

  // Returns the next event; NotYet after `timeout` without one, so that the caller can check for Ctrl-C. Throws the
  // error of a reading thread (FileError), and std::logic_error after a fork.
  NextEvent next(std::chrono::milliseconds timeout);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
