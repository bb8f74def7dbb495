// The records of a local file, in order, read ahead of the consumer by a BlockReader.
//
// At most threads + 12 blocks are in flight, so a slow consumer holds memory still. Threads start at the first next()
// and end with the object; they never touch Python. A file of one block is read by who asks for it, and so is every
// file where there is one CPU: threads would only take turns.
//
// next() is for one consumer at a time. The destructor may run on any thread, and in a forked child, where the threads
// do not exist, it lets go of them without waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <variant>

#include "core/assembler.h"
#include "io/block_reader.h"

namespace penstock {

struct EndOfRecords {};
struct NotYet {};
using NextEvent = std::variant<Chunk, Fault, EndOfRecords, NotYet>;

class FileRecords {
 public:
  FileRecords(const std::filesystem::path& path, const BlockReaderOptions& options);
  ~FileRecords();
  FileRecords(const FileRecords&) = delete;
  FileRecords& operator=(const FileRecords&) = delete;

  // The next chunk or fault; NotYet after `patience` without one, so that the caller can look for Ctrl-C. Throws what a
  // reading thread met (FileError), and std::logic_error after a fork.
  NextEvent next(std::chrono::milliseconds patience);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
