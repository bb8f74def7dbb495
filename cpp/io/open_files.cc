#include "io/open_files.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace penstock {

OpenFiles::OpenFiles(std::vector<std::filesystem::path> paths, std::size_t max_open)
    : paths_(std::move(paths)), max_open_(std::max<std::size_t>(1, max_open)), slots_(paths_.size()) {}

std::shared_ptr<const OpenFile> OpenFiles::open(std::size_t shard) {
  const std::lock_guard lock(mutex_);
  const Slot& slot = slots_[shard];
  if (slot.copies.empty()) {
    while (open_ >= max_open_) close_oldest();
    return open_copy(shard);
  }
  uses_.splice(uses_.end(), uses_, slot.use);
  const auto idle = std::ranges::find_if(slot.copies, [](const auto& file) { return file.use_count() == 1; });
  if (idle != slot.copies.end()) return *idle;
  if (open_ >= max_open_) return slot.copies.front();
  try {
    return open_copy(shard);
  } catch (const FileError&) {  // the limit on open files, or the file was removed or replaced: use the open one
    return slot.copies.front();
  }
}

std::shared_ptr<const OpenFile> OpenFiles::open_copy(std::size_t shard) {
  Slot& slot = slots_[shard];
  try {
    auto file = std::make_shared<const OpenFile>(paths_[shard]);
    if (!slot.copies.empty() && !file->file.same_as(slot.copies.front()->file))
      throw std::system_error(std::make_error_code(std::errc::no_such_file_or_directory));  // it was replaced
    slot.copies.push_back(std::move(file));
  } catch (const std::system_error& error) {
    throw FileError(error, text_of(paths_[shard]));
  }
  if (slot.copies.size() == 1) slot.use = uses_.insert(uses_.end(), shard);
  ++open_;
  return slot.copies.back();
}

void OpenFiles::close_oldest() {
  Slot& oldest = slots_[uses_.front()];
  oldest.copies.pop_back();
  --open_;
  if (oldest.copies.empty()) uses_.pop_front();
}

}  // namespace penstock
