#include "dynamic_library.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "platform/whole_library.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif
#if defined(__GLIBC__)
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tritonts::platform {

std::filesystem::path NativePath(const std::string& utf8) {
  return std::filesystem::path(std::u8string(utf8.begin(), utf8.end()));
}

std::string Utf8(const std::filesystem::path& path) {
  const std::u8string text = path.u8string();
  return std::string(text.begin(), text.end());
}

#if defined(_WIN32)

std::optional<DynamicLibrary> DynamicLibrary::Open(const std::string& path, std::string* fault) {
  const std::filesystem::path file = NativePath(path);
  // The altered search path lets the library find libraries beside it. It is not defined for a bare
  // name.
  const DWORD flags = file.is_absolute() ? LOAD_WITH_ALTERED_SEARCH_PATH : 0;
  HMODULE handle = LoadLibraryExW(file.c_str(), nullptr, flags);
  if (!handle) {
    const DWORD error = GetLastError();
    // In the user's language, whose letters need not be ASCII.
    wchar_t text[512];
    DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS,
                                  nullptr, error, 0, text, DWORD{std::size(text)}, nullptr);
    while (length > 0 && (text[length - 1] == L'\n' || text[length - 1] == L'\r')) length--;
    if (fault) {
      *fault = Utf8(std::filesystem::path(std::wstring(text, length))) + " (" +
               std::to_string(error) + ")";
    }
    return std::nullopt;
  }
  return DynamicLibrary(handle);
}

void* DynamicLibrary::Symbol(const char* name) const {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), name));
}

bool DynamicLibrary::HideName() const {
  return false;
}

std::optional<DynamicLibrary> DynamicLibrary::OpenCopy(const std::string&, const std::string&,
                                                       std::string* fault) {
  if (fault) *fault = "Windows cannot open a library under another name";
  return std::nullopt;
}

bool DynamicLibrary::Pin(const void* address) {
  HMODULE module = nullptr;
  const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
  return GetModuleHandleExW(flags, static_cast<LPCWSTR>(address), &module) != 0;
}

std::string DynamicLibrary::PathOf(const void* address) {
  HMODULE module = nullptr;
  const DWORD flags =
      GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  if (!GetModuleHandleExW(flags, static_cast<LPCWSTR>(address), &module)) return "";
  std::wstring name(32768, L'\0');
  name.resize(GetModuleFileNameW(module, name.data(), static_cast<DWORD>(name.size())));
  return Utf8(std::filesystem::path(name));
}

#else

std::optional<DynamicLibrary> DynamicLibrary::Open(const std::string& path, std::string* fault) {
  // A name without a folder is looked up by the system.
  const std::string missing = path.find('/') == std::string::npos ? "" : WhatIsMissing(path);
  if (!missing.empty()) {
    if (fault) *fault = missing;
    return std::nullopt;
  }
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* text = dlerror();
    if (fault) *fault = text ? text : "unknown error";
    return std::nullopt;
  }
  return DynamicLibrary(handle);
}

void* DynamicLibrary::Symbol(const char* name) const {
  return dlsym(handle_, name);
}

#if defined(__GLIBC__)

namespace {

// The entry of the library's name in its dynamic section, which glibc reads when a library is
// opened by name; null: it has none. Its page is made writable, because it may have been made
// read-only when the library was bound. The page stays writable: its old protection is unknown, and
// other data in it may have to be writable.
ElfW(Dyn) * NameEntry(const link_map& map) {
  for (ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag != DT_SONAME || entry->d_un.d_val == 0) continue;
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<uintptr_t>(entry) & ~(page - 1);
    const auto end = reinterpret_cast<uintptr_t>(entry + 1);
    void* const start = reinterpret_cast<void*>(begin);
    return mprotect(start, end - begin, PROT_READ | PROT_WRITE) == 0 ? entry : nullptr;
  }
  return nullptr;
}

// The address of the library's strings.
uintptr_t Strings(const link_map& map) {
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag != DT_STRTAB) continue;
    // glibc adds the library's address to the entry, unless the section is read-only.
    return entry->d_un.d_ptr + (entry->d_un.d_ptr < map.l_addr ? map.l_addr : 0);
  }
  return 0;
}

// Copies a file to one in memory. Returns its descriptor; -1: errno says why not.
int CopyToMemory(const std::string& path) {
  const int from = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (from < 0) return -1;
  const int to = memfd_create("library", MFD_CLOEXEC);
  bool is_whole = to >= 0;
  char part[64 * 1024];
  while (is_whole) {
    const ssize_t size = read(from, part, sizeof part);
    if (size == 0) break;
    is_whole = size > 0 && write(to, part, static_cast<size_t>(size)) == size;
  }
  const int error = errno;
  close(from);
  if (is_whole) return to;
  if (to >= 0) close(to);
  errno = error;
  return -1;
}

}  // namespace

bool DynamicLibrary::HideName() const {
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) return false;
  ElfW(Dyn)* const entry = NameEntry(*map);
  if (!entry) return false;
  // The string at 0 is empty.
  entry->d_un.d_val = 0;
  return true;
}

std::optional<DynamicLibrary> DynamicLibrary::OpenCopy(const std::string& path,
                                                       const std::string& name,
                                                       std::string* fault) {
  const int file = CopyToMemory(path);
  if (file < 0) {
    if (fault) *fault = "cannot copy '" + path + "' to memory: " + std::strerror(errno);
    return std::nullopt;
  }
  // glibc gives a library that is open to those who ask for its path again. A descriptor's number
  // is used again, so no two copies may have the same path.
  static std::atomic<uint32_t> copies{0};
  std::string unique = "/proc/self/";
  for (uint32_t i = copies.fetch_add(1, std::memory_order_relaxed); i > 0; i--) unique += "./";
  auto opened = Open(unique + "fd/" + std::to_string(file), fault);
  close(file);
  link_map* map = nullptr;
  if (!opened || dlinfo(opened->handle_, RTLD_DI_LINKMAP, &map) != 0) return std::nullopt;
  ElfW(Dyn)* const entry = NameEntry(*map);
  const uintptr_t strings = Strings(*map);
  if (!entry || strings == 0) {
    if (fault) *fault = "'" + path + "' has no name that can be changed";
    return std::nullopt;
  }
  // The entry is an offset from the library's strings, and wraps around. glibc keeps the address of
  // the name, which is therefore never freed.
  const auto* const kept = new std::string(name);
  entry->d_un.d_val = reinterpret_cast<uintptr_t>(kept->c_str()) - strings;
  return opened;
}

#else

bool DynamicLibrary::HideName() const {
  return false;
}

std::optional<DynamicLibrary> DynamicLibrary::OpenCopy(const std::string&, const std::string&,
                                                       std::string* fault) {
  if (fault) *fault = "this system cannot open a library under another name";
  return std::nullopt;
}

#endif

bool DynamicLibrary::Pin(const void* address) {
  const std::string path = PathOf(address);
  // The library is open already, and RTLD_NODELETE keeps it loaded. The handle is never closed,
  // which keeps it loaded, too.
  return !path.empty() &&
         dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
}

std::string DynamicLibrary::PathOf(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname ? info.dli_fname : "";
}

#endif

}  // namespace tritonts::platform
