// Files that are read here and there, kept open: of many, those that were used last.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/file.h"

namespace penstock {

struct ShardFile {
  explicit ShardFile(const std::filesystem::path& path)
      : file(path, Access::kRandom), size(file.size()), name(std::make_shared<const std::string>(text_of(path))) {}

  const File file;
  const std::uint64_t size;
  const std::shared_ptr<const std::string> name;
};

// Thread-safe.
class ShardFiles {
 public:
  ShardFiles(std::vector<std::filesystem::path> paths, std::size_t most_open);

  std::size_t size() const { return paths_.size(); }

  // Throws FileError where it cannot be opened.
  std::shared_ptr<const ShardFile> open(std::size_t shard);

 private:
  struct Slot {
    std::shared_ptr<const ShardFile> file;
    std::uint64_t last_use = 0;
  };

  const std::vector<std::filesystem::path> paths_;
  const std::size_t most_open_;
  std::mutex mutex_;
  std::vector<Slot> slots_;
  std::size_t open_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace penstock
