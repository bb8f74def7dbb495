// A local file, read at offsets. Never mapped: a file that another process cuts short must give an error, not a signal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace penstock {

// A path as text for people: its bytes, on Windows UTF-8.
inline std::string text_of(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return {reinterpret_cast<const char*>(text.data()), text.size()};
}

// What the operating system said about a file.
class FileError : public std::system_error {
 public:
  FileError(const std::system_error& error, std::string path) : std::system_error(error), path_(std::move(path)) {}
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// How a file is read: what is behind a read is fetched along with it, or not.
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
  // Whether both are open on one file, whatever now stands under its name.
  bool same_as(const File& other) const;

  // Reads until `size` bytes are there or the file ends; answers how many there are. Safe from several threads.
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
