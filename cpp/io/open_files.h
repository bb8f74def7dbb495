// Keeps recently used files open for random access.
//
// Threads that read through one descriptor slow each other down, because the kernel counts its users at every read:
// with eight threads, short reads take twice as long. So a file that is in use is opened once more for the next thread,
// up to a limit.
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

  // Throws FileError if it cannot be opened. The file counts as in use until it is released.
  std::shared_ptr<const OpenFile> open(std::size_t shard);

 private:
  using Copies = std::vector<std::shared_ptr<const OpenFile>>;
  struct Slot {
    Copies copies;
    std::list<std::size_t>::iterator use;  // if copies are open
  };

  std::shared_ptr<const OpenFile> open_copy(std::size_t shard);
  void close_oldest();

  const std::vector<std::filesystem::path> paths_;
  const std::size_t max_open_;
  std::mutex mutex_;
  std::vector<Slot> slots_;
  std::list<std::size_t> uses_;  // open files, most recently used last
  std::size_t open_ = 0;
};

}  // namespace penstock
