// Shared libraries, opened while the process runs. Any thread may call any function.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tritonts::platform {

// Makes a path from UTF-8. Its c_str() is what the system's C interfaces take (char, or wchar_t on
// Windows).
std::filesystem::path NativePath(const std::string& utf8);
// The reverse of NativePath.
std::string Utf8(const std::filesystem::path& path);

// An open library. Copies refer to the same library, and none of them closes it: runtimes leave
// threads and exit handlers behind, so an open library stays for the life of the process.
class DynamicLibrary {
 public:
  // Opens the file: a full path, or a name that the system looks up. All its symbols are bound at
  // once, and are not visible to other libraries. If that fails, `fault` gets the system's text
  // (null: not wanted).
  static std::optional<DynamicLibrary> Open(const std::string& path, std::string* fault = nullptr);

  // The address of an exported function or variable; null: there is none.
  void* Symbol(const char* name) const;

  // Hides the library's name (soname) from glibc. Otherwise glibc gives this library to every other
  // library that asks for that name. With the name hidden, they get the library beside them, which
  // may have another version. False: nothing was done, or nothing needed to be done.
  bool HideName() const;

  // Opens a copy of the library at `path` that has the name (soname) `name`. glibc then gives the
  // copy to every library that asks for that name and is opened later. The copy has variables of
  // its own, and no file. Only with glibc; the fault says so elsewhere.
  static std::optional<DynamicLibrary> OpenCopy(const std::string& path, const std::string& name,
                                                std::string* fault = nullptr);

  // Keeps the library that contains `address` (of a function or variable) loaded for the life of
  // the process. False: the system does not know it.
  static bool Pin(const void* address);

  // The file that contains `address` (of a function or variable); "": unknown.
  static std::string PathOf(const void* address);

 private:
  explicit DynamicLibrary(void* handle) : handle_(handle) {}

  void* handle_;
};

}  // namespace tritonts::platform
