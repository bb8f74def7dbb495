// The records of a local file, in order, read ahead of the consumer by a BlockReader.
//
// At most threads + 12 blocks are in flight, so a slow consumer holds memory still. Threads start at the first next()
// and end with the object; they never touch Python. A file of one block is read by who asks for it, and so is every
// file where there is one CPU: threads would only take turns.
//
// next() is for one consumer at a time. The destructor may run on any thread, and in a forked child, where the threads
// do not exist, it lets go of them without waiting.
//
// Who wants to know whether records are sound, and not to have them, gives a decoder: the threads that read a block
// decode it, too, and let go of it, so that each works in the same few cache lines all the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <variant>

#include "core/chunk_assembler.h"
#include "core/example/batch.h"
#include "io/block_reader.h"

namespace penstock {

struct EndOfRecords {};
struct NotYet {};
// Records that were decoded and let go of, and the bytes of their frames.
struct ValidRecords {
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;  // of the frames, where it was asked for
};
using NextEvent = std::variant<Chunk, Fault, ValidRecords, EndOfRecords, NotYet>;

class FileRecords {
 public:
  // With a `decoder`, chunks come out only where one of their records does not decode; others are reported as ValidRecords,
  // with the `checksum` of their frames if that is wanted.
  FileRecords(const std::filesystem::path& path, const BlockReaderOptions& options,
              std::shared_ptr<BatchDecoder> decoder = nullptr, bool checksum = false);
  ~FileRecords();
  FileRecords(const FileRecords&) = delete;
  FileRecords& operator=(const FileRecords&) = delete;

  // What comes next in the file; NotYet after `patience` without one, so that the caller can look for Ctrl-C. Throws
  // what a reading thread met (FileError), and std::logic_error after a fork.
  NextEvent next(std::chrono::milliseconds timeout);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
