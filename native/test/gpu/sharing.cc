// Checks that memory of a GPU can be shared with another process, which is this program again.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "bench.h"
#include "device/gpu_regions.h"

extern char** environ;

namespace tritonts::test {

namespace {

using device::GpuRegions;
using device::cuda::IpcHandle;

constexpr size_t kSharedBytes = 1 << 20;

std::vector<char> Pattern(char first) {
  std::vector<char> bytes(kSharedBytes);
  for (size_t i = 0; i < kSharedBytes; i++) bytes[i] = static_cast<char>(first + i % 100);
  return bytes;
}

Buffer Here(std::vector<char>* bytes) {
  Buffer here;
  here.data = bytes->data();
  here.size = bytes->size();
  return here;
}

// Waits for a call of GpuRegions, which must succeed.
BlockRef Await(const std::function<void(GpuRegions::Done)>& begin) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_told = false;
  Status told;
  BlockRef opened;
  begin([&](const Status& status, const BlockRef& memory) {
    const std::lock_guard lock(mutex);
    told = status;
    opened = memory;
    is_told = true;
    changed.notify_all();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return is_told; });
  Expect(told);
  return opened;
}

}  // namespace

int OpenShared(int device, const std::string& hex) {
  IpcHandle handle{};
  Expect(hex.size() == 2 * sizeof(handle.bytes), "the handle has another size");
  for (size_t i = 0; i < sizeof(handle.bytes); i++) {
    handle.bytes[i] =
        static_cast<unsigned char>(std::strtoul(hex.substr(2 * i, 2).c_str(), nullptr, 16));
  }
  const auto regions = GpuRegions::Share();
  const BlockRef memory =
      Await([&](auto done) { regions->Open(device, handle, kSharedBytes, std::move(done)); });
  const Buffer all{memory->data(), kSharedBytes, memory->kind(), memory->device(), memory};
  std::vector<char> bytes(kSharedBytes);
  Await([&](auto done) { regions->Copy(all, Here(&bytes), std::move(done)); });
  Expect(bytes == Pattern(1), "another process reads other bytes");
  std::vector<char> answer = Pattern(2);
  Await([&](auto done) { regions->Copy(Here(&answer), all, std::move(done)); });
  return 0;
}

void CheckSharing(const std::shared_ptr<device::Gpu>& gpu) {
  const device::Gpu::Current current(*gpu);
  const auto& call = gpu->call();
  device::cuda::Address address = 0;
  ExpectDriver(*gpu, call.MemAlloc(&address, kSharedBytes), "cuMemAlloc");
  const device::cuda::Stream stream = gpu->MakeStream().value();
  const std::vector<char> given = Pattern(1);
  ExpectDriver(*gpu, call.MemcpyHtoDAsync(address, given.data(), kSharedBytes, stream),
               "cuMemcpyHtoD");
  ExpectDriver(*gpu, call.StreamSynchronize(stream), "cuStreamSynchronize");
  IpcHandle handle{};
  const auto share = reinterpret_cast<int (*)(IpcHandle*, device::cuda::Address)>(
      DriverSymbol("cuIpcGetMemHandle"));
  ExpectDriver(*gpu, share(&handle, address), "cuIpcGetMemHandle");
  std::string hex;
  for (const unsigned char byte : handle.bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  std::string program = "/proc/self/exe";
  std::string open = "--open";
  std::string id = std::to_string(gpu->id());
  char* const arguments[] = {program.data(), open.data(), id.data(), hex.data(), nullptr};
  pid_t child = 0;
  Expect(posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) == 0,
         "no process can be started");
  int ended = 0;
  Expect(waitpid(child, &ended, 0) == child && ended == 0,
         "another process cannot open shared memory");
  std::vector<char> bytes(kSharedBytes);
  ExpectDriver(*gpu, call.MemcpyDtoHAsync(bytes.data(), address, kSharedBytes, stream),
               "cuMemcpyDtoH");
  ExpectDriver(*gpu, call.StreamSynchronize(stream), "cuStreamSynchronize");
  Expect(bytes == Pattern(2), "another process writes other bytes");
  ExpectDriver(*gpu, call.StreamDestroy(stream), "cuStreamDestroy");
  ExpectDriver(*gpu, call.MemFree(address), "cuMemFree");
  std::printf("memory is shared with another process\n");
}

}  // namespace tritonts::test
