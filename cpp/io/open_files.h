// Files that are read here and there, kept open: of many, those that were used last.
//
// Threads that read by one descriptor hinder each other, for the kernel counts its users at every read: with eight
// threads, short reads take twice as long. So a file that somebody reads is opened once more for the next who asks,
// while there is room.
#pragma once

#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/file.h"

namespace penstock {

struct OpenFile {
  explicit OpenFile(const std::filesystem::path& path)
      : file(path, Access::kRandom), size(file.size()), name(std::make_shared<const std::string>(text_of(path))) {}

  const File file;
  const std::uint64_t size;
  const std::shared_ptr<const std::string> name;
};

// Thread-safe.
class OpenFiles {
 public:
  OpenFiles(std::vector<std::filesystem::path> paths, std::size_t max_open);

  // Throws FileError where it cannot be opened. It counts as read until it is let go.
  std::shared_ptr<const OpenFile> open(std::size_t shard);

 private:
  using Copies = std::vector<std::shared_ptr<const OpenFile>>;
  struct Slot {
    Copies copies;
    std::list<std::size_t>::iterator use;  // where copies are open
  };

  std::shared_ptr<const OpenFile> open_copy(std::size_t shard);
  void close_oldest();

  const std::vector<std::filesystem::path> paths_;
  const std::size_t max_open_;
  std::mutex mutex_;
  std::vector<Slot> slots_;
  std::list<std::size_t> uses_;  // files that are open, those that were used last at the end
  std::size_t open_ = 0;
};

}  // namespace penstock
