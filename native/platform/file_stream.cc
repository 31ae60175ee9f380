#include "platform/file_stream.h"

#include <cerrno>

#if defined(_WIN32)
#include <windows.h>

#include <filesystem>
#include <system_error>

#include "platform/dynamic_library.h"
#else
#include <sys/types.h>
#endif

namespace tritonts::platform {

#if defined(_WIN32)

std::FILE* OpenFile(const std::string& path, const char* mode) {
  const std::string kept = std::string(mode) + "N";
  return _wfopen(NativePath(path).c_str(), std::wstring(kept.begin(), kept.end()).c_str());
}

bool SeekInFile(std::FILE* file, int64_t offset) {
  return _fseeki64(file, offset, SEEK_SET) == 0;
}

int64_t SeekToEnd(std::FILE* file) {
  return _fseeki64(file, 0, SEEK_END) == 0 ? _ftelli64(file) : -1;
}

bool MoveFileOver(const std::string& from, const std::string& to) {
  if (MoveFileExW(NativePath(from).c_str(), NativePath(to).c_str(), MOVEFILE_REPLACE_EXISTING)) {
    return true;
  }
  const std::error_code error(static_cast<int>(GetLastError()), std::system_category());
  const std::error_condition known = error.default_error_condition();
  errno = known.category() == std::generic_category() ? known.value() : EIO;
  return false;
}

#else

std::FILE* OpenFile(const std::string& path, const char* mode) {
  return std::fopen(path.c_str(), (std::string(mode) + "e").c_str());
}

bool SeekInFile(std::FILE* file, int64_t offset) {
  return fseeko(file, static_cast<off_t>(offset), SEEK_SET) == 0;
}

int64_t SeekToEnd(std::FILE* file) {
  return fseeko(file, 0, SEEK_END) == 0 ? int64_t{ftello(file)} : -1;
}

bool MoveFileOver(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0;
}

#endif

}  // namespace tritonts::platform
