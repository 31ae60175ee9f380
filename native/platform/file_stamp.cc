#include "platform/file_stamp.h"

#include <cstdint>

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/stat.h>
#endif

namespace tritonts::platform {

namespace {

void Add(std::string* stamp, uint64_t number) {
  *stamp += ' ' + std::to_string(number);
}

#if defined(_WIN32)

uint64_t Whole(DWORD high, DWORD low) {
  return uint64_t{high} << 32 | low;
}

// `flags`: whether a link is followed.
std::string StampOf(const std::filesystem::path& path, DWORD flags) {
  // Without access to the content. Others may go on to write, rename and remove the file.
  const HANDLE file = CreateFileW(path.c_str(), FILE_READ_ATTRIBUTES,
                                  FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
                                  OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | flags, nullptr);
  if (file == INVALID_HANDLE_VALUE) return {};
  std::string stamp;
  BY_HANDLE_FILE_INFORMATION found{};
  FILE_BASIC_INFO times{};
  if (GetFileInformationByHandle(file, &found) &&
      GetFileInformationByHandleEx(file, FileBasicInfo, &times, sizeof(times))) {
    Add(&stamp, found.dwVolumeSerialNumber);
    Add(&stamp, Whole(found.nFileIndexHigh, found.nFileIndexLow));
    // The size of a folder says nothing about its content.
    if ((found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) == 0) {
      Add(&stamp, Whole(found.nFileSizeHigh, found.nFileSizeLow));
    }
    Add(&stamp, static_cast<uint64_t>(times.LastWriteTime.QuadPart));
    Add(&stamp, static_cast<uint64_t>(times.ChangeTime.QuadPart));
  }
  CloseHandle(file);
  return stamp;
}

#else

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
  std::string stamp = StampOf(path, 0);
  if (is_link) stamp += " link" + StampOf(path, FILE_FLAG_OPEN_REPARSE_POINT);
  return stamp;
#else
  std::string stamp;
  struct stat found;
  if (stat(path.c_str(), &found) == 0) stamp += StampOf(found);
  if (is_link && lstat(path.c_str(), &found) == 0) stamp += " link" + StampOf(found);
  return stamp;
#endif
}

}  // namespace tritonts::platform
