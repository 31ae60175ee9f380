// Shared libraries, opened while the process runs. Any thread.
#pragma once

#include <filesystem>
#include <string>

#include "engine/base/status.h"

namespace tritonts::platform {

// A path in the form that system calls take, from UTF-8; its c_str() is what the system's C
// interfaces want (char, or wchar_t on Windows).
std::filesystem::path NativePath(const std::string& utf8);
// The other way.
std::string Utf8(const std::filesystem::path& path);

// An open library. Copies are the same library, and none of them closes it: the runtimes leave
// threads and exit handlers behind, so an opened library stays for the life of the process.
class DynamicLibrary {
 public:
  // Opens the file, a full path or a name that the system knows where to look for, with all its
  // symbols bound, and visible to nobody else. The error is the system's, with code kUnavailable.
  static StatusOr<DynamicLibrary> Open(const std::string& path);

  // The address of an exported function or variable; null when there is none.
  void* Symbol(const char* name) const;

  // Takes the name away by which the system would give this library to others that ask for one of
  // its name (glibc alone does so): they get the one that lies beside them, which may be of another
  // version. False where nothing was to be done, or could be.
  bool HideName() const;

  // Keeps the library that `address` (of a function or variable) lies in loaded for the life of the
  // process, whoever closes it. False: the system does not know it.
  static bool Pin(const void* address);

  // Where the file lies that `address` (of a function or variable) was loaded from; "" when
  // unknown.
  static std::string PathOf(const void* address);

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}

  void* handle_;
};

}  // namespace tritonts::platform
