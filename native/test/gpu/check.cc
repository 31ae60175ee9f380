// Checks that a GPU does what the device layer needs, and measures its copies.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "bench.h"
#include "device/graph.h"

namespace tritonts::test {

namespace {

using device::DeviceMemory;
using device::Gpu;
namespace cuda = device::cuda;

constexpr size_t kFloats = 1 << 20;
constexpr size_t kBytes = kFloats * sizeof(float);

float* Floats(const BlockRef& block) {
  return static_cast<float*>(block->data());
}

}  // namespace

void CheckGpu(const std::shared_ptr<Gpu>& gpu) {
  const Gpu::Current current(*gpu);
  const auto& call = gpu->call();
  const AddOne kernel(*gpu);
  const cuda::Stream stream = gpu->MakeStream(Gpu::Priority::kMost).value();
  const cuda::Stream other = gpu->MakeStream(Gpu::Priority::kLeast).value();
  cuda::Event event = nullptr;
  cuda::Event end = nullptr;
  ExpectDriver(*gpu, call.EventCreate(&event, cuda::kWithTiming), "cuEventCreate");
  ExpectDriver(*gpu, call.EventCreate(&end, cuda::kWithTiming), "cuEventCreate");
  DeviceMemory from(gpu);
  DeviceMemory to(gpu);
  Expect(from.Reserve(kBytes));
  Expect(to.Reserve(kBytes));
  const BlockRef in = gpu->Pinned(kBytes);
  const BlockRef out = gpu->Pinned(kBytes);
  Expect(in->kind() == MemoryKind::kPinned, "the driver pins no memory");
  const auto fill = [&](float first) {
    for (size_t i = 0; i < kFloats; i++) Floats(in)[i] = first + static_cast<float>(i % 1000);
    std::memset(out->data(), 0, kBytes);
  };
  const auto right = [&](float first) {
    for (size_t i = 0; i < kFloats; i++)
      if (Floats(out)[i] != first + static_cast<float>(i % 1000)) return false;
    return true;
  };
  const auto up = [&](cuda::Stream on) {
    return gpu->Check(call.MemcpyHtoDAsync(from.address(), in->data(), kBytes, on), "cuMemcpyHtoD");
  };
  const auto down = [&](cuda::Stream on, const DeviceMemory& memory) {
    return gpu->Check(call.MemcpyDtoHAsync(out->data(), memory.address(), kBytes, on),
                      "cuMemcpyDtoH");
  };
  fill(1);
  Expect(up(stream));
  Expect(down(stream, from));
  gpu->Drain(stream);
  Expect(right(1), "memory: what came back is not what was sent");
  fill(2);
  ExpectDriver(*gpu, call.EventRecord(event, stream), "cuEventRecord");
  Expect(up(stream));
  ExpectDriver(*gpu, call.EventRecord(end, stream), "cuEventRecord");
  ExpectDriver(*gpu, call.StreamWaitEvent(other, end, 0), "cuStreamWaitEvent");
  Expect(kernel.Launch(other, to.address(), from.address(), kFloats));
  Expect(down(other, to));
  gpu->Drain(other);
  Expect(right(3), "streams: a kernel did not wait for the copy of another stream");
  float milliseconds = -1;
  ExpectDriver(*gpu, call.EventElapsedTime(&milliseconds, event, end), "cuEventElapsedTime");
  Expect(milliseconds >= 0, "events: the copy has no time");
  {
    auto graph = device::Graph::Record(gpu, stream, [&] {
      Status status = up(stream);
      if (status.ok()) status = kernel.Launch(stream, to.address(), from.address(), kFloats);
      if (status.ok()) status = down(stream, to);
      return status;
    });
    Expect(graph.status());
    for (const float first : {4.0F, 5.0F}) {
      fill(first);
      Expect(graph.value().Launch(stream));
      gpu->Drain(stream);
      Expect(right(first + 1), "graphs: a launch did not do what was recorded");
    }
  }
  Expect(gpu->fault());
  for (const cuda::Stream one : {stream, other}) (void)call.StreamDestroy(one);
  for (const cuda::Event one : {event, end}) (void)call.EventDestroy(one);
  std::printf("GPU %d: memory, streams, events, a kernel of PTX and graphs are right\n", gpu->id());
}

void PrintBandwidths(const std::shared_ptr<Gpu>& gpu) {
  const Gpu::Current current(*gpu);
  const auto& call = gpu->call();
  const cuda::Stream stream = gpu->MakeStream().value();
  constexpr size_t kSize = size_t{32} << 20;
  constexpr int kCopies = 16;
  DeviceMemory memory(gpu);
  Expect(memory.Reserve(kSize));
  const BlockRef pinned = gpu->Pinned(kSize);
  std::vector<char> plain(kSize, 1);
  std::printf("\n| copies of 32 MiB, GB/s | pinned | plain |\n| --- | --- | --- |\n");
  for (const bool up : {true, false}) {
    std::printf("| %s |", up ? "to the device" : "from the device");
    for (void* const host : {pinned->data(), static_cast<void*>(plain.data())}) {
      const auto copy = [&] {
        const int result = up ? call.MemcpyHtoDAsync(memory.address(), host, kSize, stream)
                              : call.MemcpyDtoHAsync(host, memory.address(), kSize, stream);
        ExpectDriver(*gpu, result, "a copy");
      };
      copy();
      gpu->Drain(stream);
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < kCopies; i++) copy();
      gpu->Drain(stream);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      std::printf(" %.1f |", static_cast<double>(kSize) * kCopies / took.count() / 1e9);
    }
    std::printf("\n");
  }
  (void)call.StreamDestroy(stream);
}

}  // namespace tritonts::test
