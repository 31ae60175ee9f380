// Opening libraries, which stay open.
#include "platform/dynamic_library.h"

#include <filesystem>

#include "check.h"
#include "fakes/fakes.h"

#if !defined(_WIN32)
#include <dlfcn.h>
#include <unistd.h>
#endif

namespace tritonts::test {

#if !defined(_WIN32)
namespace {

bool IsLoaded(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle != nullptr;
}

}  // namespace

#if defined(__linux__)

TEST(library_that_is_cut_short_is_not_opened) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("tritonts-cut-" + std::to_string(getpid()));
  std::filesystem::copy_file(PlainLibrary(), path);
  std::string fault;
  CHECK(platform::DynamicLibrary::Open(path, &fault).has_value());
  for (const uintmax_t size : {8000, 4096, 500, 64, 10, 0}) {
    // Another file, because an open library stays mapped.
    const std::string cut = path + "-" + std::to_string(size);
    std::filesystem::copy_file(PlainLibrary(), cut);
    std::filesystem::resize_file(cut, size);
    CHECK(!platform::DynamicLibrary::Open(cut, &fault).has_value());
    CHECK(size < 64 || fault.find("it is cut short") != std::string::npos);
    std::filesystem::remove(cut);
  }
  std::filesystem::remove(path);
}

#endif

TEST(library_that_is_pinned_stays_when_it_is_closed) {
  // A copy, because other tests load the library, too.
  const std::string path =
      std::filesystem::temp_directory_path() / ("tritonts-pinned-" + std::to_string(getpid()));
  std::filesystem::copy_file(PlainLibrary(), path);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(handle != nullptr);
  if (!handle) return;
  dlclose(handle);
  CHECK(!IsLoaded(path));
  handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  CHECK(handle != nullptr);
  if (!handle) return;
  CHECK(platform::DynamicLibrary::Pin(dlsym(handle, "fake_number")));
  dlclose(handle);
  CHECK(IsLoaded(path));
  std::filesystem::remove(path);
}
#endif

TEST(library_of_no_address_can_not_be_pinned) {
  int here = 0;
  CHECK(!platform::DynamicLibrary::Pin(nullptr));
  CHECK(!platform::DynamicLibrary::Pin(&here));
}

TEST(library_that_cannot_be_opened_says_why) {
  std::string fault;
  CHECK(!platform::DynamicLibrary::Open("/nowhere/libnone.so", &fault));
  CHECK(fault.find("libnone") != std::string::npos);
  CHECK(!platform::DynamicLibrary::Open("/nowhere/libnone.so"));
  const auto opened = platform::DynamicLibrary::Open(PlainLibrary(), &fault);
  CHECK(opened && opened->Symbol("fake_number") != nullptr);
}

}  // namespace tritonts::test
