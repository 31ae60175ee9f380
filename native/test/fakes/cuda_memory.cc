// Memory of the fake driver.
//
// Device memory is mapped twice. The mapping at its address is not accessible, so code that treats
// it as host memory crashes. The fake itself uses the other mapping.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "cuda_state.h"

using namespace tritonts::fakes;

namespace tritonts::fakes {

char* ShadowOf(const char* function, uint64_t address, size_t size, Context* context) {
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  auto found = state.device.upper_bound(address);
  if (found == state.device.begin()) Abort(function, "with an address that is not a device's");
  --found;
  if (address + size > found->first + found->second.size)
    Abort(function, "beyond the end of device memory");
  if (context && found->second.context != context)
    Abort(function, "with memory of another context");
  return found->second.shadow + (address - found->first);
}

static size_t Pages(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

int MapDevice(uint64_t* address, size_t bytes, int file) {
  const size_t size = Pages(bytes);
  void* const hidden = mmap(nullptr, size, PROT_NONE, MAP_SHARED, file, 0);
  void* const shadow = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (hidden == MAP_FAILED || shadow == MAP_FAILED) return kOutOfMemory;
  *address = reinterpret_cast<uint64_t>(hidden);
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.device[*address] = {bytes, static_cast<char*>(shadow), CurrentContext(), file};
  return 0;
}

void UnmapDevice(const char* function, uint64_t address) {
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  const auto found = state.device.find(address);
  if (found == state.device.end()) Abort(function, "with an address that is not a device's");
  munmap(reinterpret_cast<void*>(address), Pages(found->second.size));
  munmap(found->second.shadow, Pages(found->second.size));
  close(found->second.file);
  state.device.erase(found);
}

}  // namespace tritonts::fakes

namespace {

constexpr unsigned kPortable = 1;

int Allocate(uint64_t* address, size_t bytes) {
  if (bytes == 0) return kInvalidValue;
  const int file = memfd_create("fake-device", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(Pages(bytes))) != 0) return kOutOfMemory;
  if (const int result = MapDevice(address, bytes, file)) return result;
  std::memset(ShadowOf("cuMemAlloc", *address, bytes), 0xcd, bytes);
  return 0;
}

// Waits for all work of the context, and blocks other calls meanwhile.
void AwaitDevice(Context& context) {
  State& state = Here();
  const std::lock_guard waiting(context.waits);
  std::vector<Stream*> streams;
  {
    const std::lock_guard lock(state.mutex);
    streams.assign(state.streams.begin(), state.streams.end());
  }
  // No stream is destroyed meanwhile, because that call would block.
  for (Stream* const stream : streams)
    if (stream->context() == &context) stream->Synchronize();
}

}  // namespace

EXPORTED int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  static Call call("cuMemAlloc_v2");
  if (const int result = call.Begin()) return result;
  if (const int result = RefuseInCapture()) return result;
  return Allocate(address, bytes);
}

EXPORTED int cuMemFree_v2(uint64_t address) {
  static Call call("cuMemFree_v2");
  const int result = call.Begin();
  if (result == 0) AwaitDevice(*CurrentContext());
  if (Ends(result)) UnmapDevice("cuMemFree_v2", address);
  return result;
}

EXPORTED int cuMemAllocAsync(uint64_t* address, size_t bytes, Stream*) {
  static Call call("cuMemAllocAsync");
  if (const int result = call.Begin()) return result;
  return Allocate(address, bytes);
}

EXPORTED int cuMemFreeAsync(uint64_t address, Stream* stream) {
  static Call call("cuMemFreeAsync");
  const int result = call.Begin();
  if (!Ends(result)) return result;
  stream->Synchronize();
  UnmapDevice("cuMemFreeAsync", address);
  return result;
}

EXPORTED int cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  static Call call("cuMemHostAlloc");
  if (const int result = call.Begin()) return result;
  if (flags != kPortable) Abort("cuMemHostAlloc", "for memory that is pinned for one device only");
  if (const int result = RefuseInCapture()) return result;
  *memory = std::malloc(bytes);
  if (!*memory) return kOutOfMemory;
  std::memset(*memory, 0xab, bytes);
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.pinned[*memory] = bytes;
  return 0;
}

EXPORTED int cuMemFreeHost(void* memory) {
  static Call call("cuMemFreeHost");
  const int result = call.Begin();
  if (!Ends(result)) return result;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  if (state.pinned.erase(memory) == 0) Abort("cuMemFreeHost", "with memory that is not pinned");
  std::free(memory);
  return result;
}

// For other fakes: the address through which a kernel accesses device memory.
EXPORTED void* fakeCudaShadow(uint64_t address, size_t bytes) {
  return ShadowOf("a kernel", address, bytes);
}
