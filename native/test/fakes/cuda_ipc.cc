// Memory that processes share, for the fake driver. A handle is the path of a file, whose bytes are
// the memory: tests make such files as another process' memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "cuda_state.h"

using namespace tritonts::fakes;

namespace {

struct Handle {
  char path[64];
};

}  // namespace

EXPORTED int cuIpcGetMemHandle(Handle* handle, uint64_t address) {
  static Call call("cuIpcGetMemHandle");
  if (const int result = call.Begin()) return result;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  const auto found = state.device.find(address);
  if (found == state.device.end() || found->second.file < 0) return kInvalidValue;
  std::memset(handle, 0, sizeof(*handle));
  std::snprintf(handle->path, sizeof(handle->path), "/proc/%d/fd/%d", static_cast<int>(getpid()),
                found->second.file);
  return 0;
}

EXPORTED int cuIpcOpenMemHandle_v2(uint64_t* address, Handle handle, unsigned flags) {
  static Call call("cuIpcOpenMemHandle_v2");
  if (const int result = call.Begin()) return result;
  if (flags != 1 || handle.path[sizeof(handle.path) - 1] != '\0') return kInvalidValue;
  // As with the real driver, a process cannot open its own memory.
  const std::string own = "/proc/" + std::to_string(getpid()) + "/";
  if (std::strncmp(handle.path, own.c_str(), own.size()) == 0) return kInvalidContext;
  const int file = open(handle.path, O_RDWR);
  struct stat found;
  if (file < 0) return kInvalidValue;
  if (fstat(file, &found) != 0 || !S_ISREG(found.st_mode) || found.st_size == 0) {
    close(file);
    return kInvalidValue;
  }
  return MapDevice(address, static_cast<size_t>(found.st_size), file);
}

EXPORTED int cuIpcCloseMemHandle(uint64_t address) {
  static Call call("cuIpcCloseMemHandle");
  const int result = call.Begin();
  if (Ends(result)) UnmapDevice("cuIpcCloseMemHandle", address);
  return result;
}

EXPORTED int cuMemGetAddressRange_v2(uint64_t* begin, size_t* bytes, uint64_t address) {
  static Call call("cuMemGetAddressRange_v2");
  if (const int result = call.Begin()) return result;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  auto found = state.device.upper_bound(address);
  if (found == state.device.begin()) return kInvalidValue;
  --found;
  if (address >= found->first + found->second.size) return kInvalidValue;
  *begin = found->first;
  *bytes = found->second.size;
  return 0;
}
