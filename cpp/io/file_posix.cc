#ifndef _WIN32

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "io/file.h"

namespace penstock {
namespace {

[[noreturn]] void raise_errno() { throw std::system_error(errno, std::generic_category()); }

// Linux transfers at most this many bytes in one call.
constexpr std::size_t kMaxPerCall = 0x7ffff000;

// A signal may interrupt the opening of a file on a remote server.
int open_to_read(const std::filesystem::path& path) {
  int descriptor;
  do descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

struct stat status(int descriptor) {
  struct stat info;
  if (::fstat(descriptor, &info) != 0) raise_errno();
  return info;
}

}  // namespace

File::File(const std::filesystem::path& path, [[maybe_unused]] Access access) : handle_(open_to_read(path)) {
  if (handle_ < 0) raise_errno();
#ifdef POSIX_FADV_SEQUENTIAL
  ::posix_fadvise(handle_, 0, 0, access == Access::kSequential ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_RANDOM);
#endif
}

File::~File() {
  if (handle_ != kClosed) ::close(handle_);
}

std::uint64_t File::size() const { return static_cast<std::uint64_t>(status(handle_).st_size); }

bool File::same_as(const File& other) const {
  const struct stat here = status(handle_), there = status(other.handle_);
  return here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

std::size_t File::read_at(std::byte* out, std::size_t size, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n =
        ::pread(handle_, out + done, std::min(size - done, kMaxPerCall), static_cast<off_t>(offset + done));
    if (n < 0) {
      if (errno == EINTR) continue;
      raise_errno();
    }
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

}  // namespace penstock

#endif  // _WIN32
