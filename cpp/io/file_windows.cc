#ifdef _WIN32

#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <algorithm>
#include <system_error>

#include "io/file.h"

namespace penstock {
namespace {

// The generic category, so that the binding sees an errno on every system.
[[noreturn]] void raise_last_error() {
  const std::error_code code(static_cast<int>(::GetLastError()), std::system_category());
  throw std::system_error(code.default_error_condition().value(), std::generic_category());
}

constexpr std::size_t kMaxPerCall = 1u << 30;

}  // namespace

File::File(const std::filesystem::path& path, Access access)
    : handle_(::CreateFileW(
          path.c_str(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
          access == Access::kSequential ? FILE_FLAG_SEQUENTIAL_SCAN : FILE_FLAG_RANDOM_ACCESS, nullptr)) {
  if (handle_ == INVALID_HANDLE_VALUE) raise_last_error();
}

File::~File() {
  if (handle_ != kClosed) ::CloseHandle(handle_);
}

std::uint64_t File::size() const {
  LARGE_INTEGER size;
  if (!::GetFileSizeEx(handle_, &size)) raise_last_error();
  return static_cast<std::uint64_t>(size.QuadPart);
}

bool File::same_as(const File& other) const {
  BY_HANDLE_FILE_INFORMATION here, there;
  if (!::GetFileInformationByHandle(handle_, &here)) raise_last_error();
  if (!::GetFileInformationByHandle(other.handle_, &there)) raise_last_error();
  return here.dwVolumeSerialNumber == there.dwVolumeSerialNumber && here.nFileIndexHigh == there.nFileIndexHigh &&
         here.nFileIndexLow == there.nFileIndexLow;
}

std::size_t File::read_at(std::byte* out, std::size_t size, std::uint64_t offset) const {
  std::size_t done = 0;
  while (done < size) {
    OVERLAPPED position{};
    position.Offset = static_cast<DWORD>(offset + done);
    position.OffsetHigh = static_cast<DWORD>((offset + done) >> 32);
    DWORD n = 0;
    if (!::ReadFile(handle_, out + done, static_cast<DWORD>(std::min(size - done, kMaxPerCall)), &n, &position)) {
      if (::GetLastError() == ERROR_HANDLE_EOF) break;
      raise_last_error();
    }
    if (n == 0) break;
    done += n;
  }
  return done;
}

}  // namespace penstock

#endif  // _WIN32
