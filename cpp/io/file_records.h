// Reads the records of a local file ahead of the consumer, on several threads.
//
// Threads read fixed blocks in parallel, pass through the assembler one after another in file order (cheap: it looks at
// headers), and verify payloads in parallel again. At most threads + 2 blocks are in flight, so a slow consumer holds
// memory still. Threads start at the first next() and end with the object; they never touch Python.
//
// next() is for one consumer at a time. The destructor may run on any thread, and in a forked child, where the threads
// do not exist, it lets go of them without waiting.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "core/assembler.h"

namespace penstock {

struct FileRecordsOptions {
  bool verify = true;
  std::uint64_t max_record_bytes = std::uint64_t{1} << 30;
  std::size_t threads = 1;
  std::size_t block_bytes = std::size_t{1} << 20;
  std::uint64_t start_offset = 0;  // must be where a frame starts
  std::uint64_t start_record = 0;
};

struct EndOfRecords {};
struct NotYet {};
using NextEvent = std::variant<Chunk, Fault, EndOfRecords, NotYet>;

class FileRecords {
 public:
  FileRecords(const std::filesystem::path& path, const FileRecordsOptions& options);
  ~FileRecords();
  FileRecords(const FileRecords&) = delete;
  FileRecords& operator=(const FileRecords&) = delete;

  // The next chunk or fault; NotYet after `patience` without one, so that the caller can look for Ctrl-C. Throws what a
  // reading thread met (std::system_error), and std::logic_error after a fork.
  NextEvent next(std::chrono::milliseconds patience);

  std::uint64_t file_size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
