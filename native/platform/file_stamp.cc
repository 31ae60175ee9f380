#include "platform/file_stamp.h"

#include <cstdint>
#include <system_error>

#if !defined(_WIN32)
#include <sys/stat.h>
#endif

namespace tritonts::platform {

namespace {

#if defined(_WIN32)

// On this system the standard library gives only the time of the last write.
std::string StampOf(const std::filesystem::path& path) {
  std::string stamp;
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  if (!error) stamp += ' ' + std::to_string(static_cast<int64_t>(time.time_since_epoch().count()));
  const auto size = std::filesystem::file_size(path, error);
  if (!error) stamp += ' ' + std::to_string(size);
  return stamp;
}

#else

void Add(std::string* stamp, uint64_t number) {
  *stamp += ' ' + std::to_string(number);
}

void AddTime(std::string* stamp, const timespec& time) {
  Add(stamp, static_cast<uint64_t>(time.tv_sec));
  *stamp += '.' + std::to_string(time.tv_nsec);
}

std::string StampOf(const struct stat& found) {
  std::string stamp;
  Add(&stamp, found.st_dev);
  Add(&stamp, found.st_ino);
  // The size of a folder says nothing about its content.
  if (S_ISREG(found.st_mode)) Add(&stamp, static_cast<uint64_t>(found.st_size));
#if defined(__APPLE__)
  AddTime(&stamp, found.st_mtimespec);
  AddTime(&stamp, found.st_ctimespec);
#else
  AddTime(&stamp, found.st_mtim);
  AddTime(&stamp, found.st_ctim);
#endif
  return stamp;
}

#endif

}  // namespace

std::string FileStamp(const std::filesystem::path& path, bool is_link) {
#if defined(_WIN32)
  static_cast<void>(is_link);
  return StampOf(path);
#else
  std::string stamp;
  struct stat found;
  if (stat(path.c_str(), &found) == 0) stamp += StampOf(found);
  if (is_link && lstat(path.c_str(), &found) == 0) stamp += " link" + StampOf(found);
  return stamp;
#endif
}

}  // namespace tritonts::platform
