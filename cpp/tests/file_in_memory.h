// A file that exists only in memory.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "tests/checks.h"

namespace penstock::tests {

class FileInMemory {
 public:
  explicit FileInMemory(const std::string& content) : descriptor_(memfd_create("file", MFD_CLOEXEC)) {
    const ssize_t written = ::write(descriptor_, content.data(), content.size());
    require(written == static_cast<ssize_t>(content.size()), "no file in memory");
  }
  ~FileInMemory() { ::close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  const int descriptor_;
};

}  // namespace penstock::tests
