#include "platform/link.h"

#include <system_error>

#if defined(_WIN32)
#include <windows.h>
#endif

namespace tritonts::platform {

bool IsLink(const std::filesystem::directory_entry& entry) {
  std::error_code ignored;
#if defined(_WIN32)
  // The standard library knows no junctions. Nobody needs rights to make one.
  if (!entry.is_directory(ignored)) return entry.is_symlink(ignored);
  WIN32_FIND_DATAW found{};
  const HANDLE search = FindFirstFileW(entry.path().c_str(), &found);
  if (search == INVALID_HANDLE_VALUE) return false;
  FindClose(search);
  return (found.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
         IsReparseTagNameSurrogate(found.dwReserved0);
#else
  return entry.is_symlink(ignored);
#endif
}

}  // namespace tritonts::platform
