#include "io/file_output.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>
#include <utility>

#ifdef _WIN32
#include <io.h>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#endif

namespace penstock {
namespace {

// Limits for one call, well below those of any system.
constexpr std::size_t kMaxPerCall = std::size_t{1} << 30;
constexpr std::size_t kMaxParts = 64;

int copy_of(int descriptor) {
#ifdef _WIN32
  const int copy = ::_dup(descriptor);
#else
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
#endif
  if (copy < 0) throw std::system_error(errno, std::generic_category());
  return copy;
}

}  // namespace

FileOutput::FileOutput(int descriptor) : descriptor_(copy_of(descriptor)) {
#ifndef _WIN32
  const ::off_t position = ::lseek(descriptor_, 0, SEEK_CUR);
  aligned_ = position >= 0;
  if (aligned_) position_ = static_cast<std::uint64_t>(position);
#endif
#ifdef __linux__
  reserves_ = aligned_;
#endif
}

FileOutput::~FileOutput() { close(); }

int FileOutput::write(Frames frames) {
  // Less at a time, by a third or more, means many open files with that much memory each.
  const std::size_t block = std::min(kBlock, std::bit_floor(std::max<std::size_t>(1, frames.size + frames.size / 2)));
  waiting_bytes_ += frames.size;
  waiting_.push_back({std::move(frames)});
  if (!aligned_ || waiting_.size() == kMaxParts) return flush();
  const std::size_t after = (position_ + waiting_bytes_) % block;
  return write_waiting(waiting_bytes_ - std::min(after, waiting_bytes_));
}

int FileOutput::flush() { return write_waiting(waiting_bytes_); }

void FileOutput::reserve([[maybe_unused]] std::size_t size) {
#ifdef __linux__
  const std::uint64_t end = position_ + size;
  if (!reserves_ || end <= std::max(reserved_, std::uint64_t{kReserve})) return;  // not worth a call for a small file
  const std::uint64_t begin = std::max(reserved_, position_);
  const std::uint64_t more = std::max(end - begin, std::uint64_t{kReserve});
  // Not supported by every file system, and the disk may be too full for this but not for the data: write() reports
  // that.
  reserves_ =
      ::fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, static_cast<::off_t>(begin), static_cast<::off_t>(more)) == 0;
  if (reserves_) reserved_ = begin + more;
#endif
}

void FileOutput::release_reserved() {
#ifdef __linux__
  // Truncating a file to its own size releases what is reserved after it. If that fails, only space is lost.
  struct ::stat info;
  if (reserved_ > position_ && ::fstat(descriptor_, &info) == 0 && ::ftruncate(descriptor_, info.st_size) != 0) return;
#endif
}

int FileOutput::write_waiting(std::size_t size) {
  reserve(size);
  while (size > 0) {
    const long long n = write_some(std::min(size, kMaxPerCall));
    if (n < 0) {
      if (errno == EINTR) continue;
      const int failed = errno;
      advance(waiting_bytes_);
      return failed;
    }
    advance(static_cast<std::size_t>(n));
    size -= static_cast<std::size_t>(n);
  }
  return 0;
}

long long FileOutput::write_some(std::size_t most) const {
#ifdef _WIN32
  const Part& part = waiting_.front();
  const std::size_t size = std::min(most, part.frames.size - part.written);
  return ::_write(descriptor_, part.frames.buffer->data() + part.written, static_cast<unsigned>(size));
#else
  ::iovec pieces[kMaxParts];
  int count = 0;
  for (auto part = waiting_.begin(); part != waiting_.end() && most > 0; ++part) {
    const std::size_t size = std::min(most, part->frames.size - part->written);
    pieces[count++] = {part->frames.buffer->data() + part->written, size};
    most -= size;
  }
  return ::writev(descriptor_, pieces, count);
#endif
}

// Counts written bytes and releases the frames that are complete.
void FileOutput::advance(std::size_t size) {
  position_ += size;
  waiting_bytes_ -= size;
  auto part = waiting_.begin();
  for (; part != waiting_.end() && size >= part->frames.size - part->written; ++part)
    size -= part->frames.size - part->written;
  if (part != waiting_.end()) part->written += size;
  waiting_.erase(waiting_.begin(), part);
}

int FileOutput::sync() {
#ifdef _WIN32
  return ::_commit(descriptor_) == 0 ? 0 : errno;
#else
#ifdef F_FULLFSYNC
  // On macOS, fsync() leaves the bytes in the drive's cache. Not every file system supports this call.
  if (::fcntl(descriptor_, F_FULLFSYNC) == 0) return 0;
#endif
  while (::fsync(descriptor_) != 0)
    if (errno != EINTR) return errno;
  return 0;
#endif
}

int FileOutput::close() {
  if (descriptor_ < 0) return 0;
  release_reserved();
  const int descriptor = std::exchange(descriptor_, -1);
#ifdef _WIN32
  const int result = ::_close(descriptor);
#else
  const int result = ::close(descriptor);
#endif
  return result == 0 || errno == EINTR ? 0 : errno;  // the descriptor is closed even if interrupted
}

}  // namespace penstock
