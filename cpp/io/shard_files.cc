#include "io/shard_files.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace penstock {

ShardFiles::ShardFiles(std::vector<std::filesystem::path> paths, std::size_t most_open)
    : paths_(std::move(paths)), most_open_(std::max<std::size_t>(1, most_open)), slots_(paths_.size()) {}

std::shared_ptr<const ShardFile> ShardFiles::open(std::size_t shard) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[shard];
  slot.last_use = ++uses_;
  if (slot.file) return slot.file;
  try {
    slot.file = std::make_shared<const ShardFile>(paths_[shard]);
  } catch (const std::system_error& error) {
    throw FileError(error, text_of(paths_[shard]));
  }
  if (++open_ > most_open_) {
    const auto age = [](const Slot& other) { return other.file ? other.last_use : ~std::uint64_t{0}; };
    std::ranges::min_element(slots_, {}, age)->file.reset();
    --open_;
  }
  return slot.file;
}

}  // namespace penstock
