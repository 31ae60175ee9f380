#include "dynamic_library.h"

#include <cstdint>

#include "platform/whole_library.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif
#if defined(__GLIBC__)
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
    char text[512];
    DWORD length = FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS,
                                  nullptr, error, 0, text, sizeof(text), nullptr);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) length--;
    if (fault) *fault = std::string(text, length) + " (" + std::to_string(error) + ")";
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

bool DynamicLibrary::HideName() const {
  link_map* map = nullptr;
  if (dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0) return false;
  // glibc compares this entry when a library is opened by name. The string at 0 is empty. The page
  // may have been made read-only when the library was bound.
  for (ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
    if (entry->d_tag != DT_SONAME || entry->d_un.d_val == 0) continue;
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<uintptr_t>(entry) & ~(page - 1);
    const auto end = reinterpret_cast<uintptr_t>(entry + 1);
    void* const start = reinterpret_cast<void*>(begin);
    if (mprotect(start, end - begin, PROT_READ | PROT_WRITE) != 0) return false;
    entry->d_un.d_val = 0;
    // The page stays writable: its old protection is unknown, and other data in it may have to be
    // writable.
    return true;
  }
  return false;
}

#else

bool DynamicLibrary::HideName() const {
  return false;
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
