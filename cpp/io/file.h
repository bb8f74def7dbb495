// A local file, read at offsets. Never mapped: if another process truncates it, that must be an error, not a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace penstock {

// Returns a path as text for messages: its bytes; on Windows, UTF-8.
inline std::string text_of(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

// An operating-system error and the file it concerns.
class FileError : public std::system_error {
 public:
  FileError(const std::system_error& error, std::string path) : std::system_error(error), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// How a file is read: with or without read-ahead by the system.
enum class Access { kSequential, kRandom };

class File {
 public:
  // Opens for reading; throws std::system_error with the operating system's code.
  explicit File(const std::filesystem::path& path, Access access = Access::kSequential);
  ~File();
  File(File&& other) noexcept : handle_(other.handle_) { other.handle_ = kClosed; }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File& operator=(File&&) = delete;

  std::uint64_t size() const;
  // Whether both refer to the same file, whatever its name now refers to.
  bool same_as(const File& other) const;

  // Reads until `size` bytes are read or the file ends; returns the number of bytes. Thread-safe.
  std::size_t read_at(std::byte* out, std::size_t size, std::uint64_t offset) const;

 private:
#ifdef _WIN32
  using Handle = void*;
  static constexpr Handle kClosed = nullptr;
#else
  using Handle = int;
  static constexpr Handle kClosed = -1;
#endif
  Handle handle_;
};

}  // namespace penstock
