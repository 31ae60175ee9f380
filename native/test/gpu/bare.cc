// The work of an instance with calls of the driver alone: the upper bound of what can be reached.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "bench.h"

namespace tritonts::test {

namespace {

using device::DeviceMemory;
using device::Gpu;
namespace cuda = device::cuda;

struct BareLane {
  explicit BareLane(const std::shared_ptr<Gpu>& gpu) : from(gpu), to(gpu) {}
  DeviceMemory from;
  DeviceMemory to;
  BlockRef in;
  BlockRef out;
  cuda::Event copied = nullptr;
  cuda::Event computed = nullptr;
  cuda::Event end = nullptr;
  bool busy = false;
};

}  // namespace

Measured RunBare(const std::shared_ptr<Gpu>& gpu, const Load& load, double seconds) {
  const Gpu::Current current(*gpu);
  const auto& call = gpu->call();
  const AddOne kernel(*gpu);
  using Wait = int (*)(cuda::Event);
  const auto wait = reinterpret_cast<Wait>(DriverSymbol("cuEventSynchronize"));
  const cuda::Stream up = gpu->MakeStream().value();
  const cuda::Stream run = load.lanes > 1 ? gpu->MakeStream().value() : up;
  const cuda::Stream down = load.lanes > 1 ? gpu->MakeStream().value() : up;
  const uint32_t rows = std::min(load.most, load.outstanding / load.lanes);
  const size_t row = load.floats * sizeof(float);
  // Callers have memory of their own.
  std::vector<std::vector<float>> inputs(load.outstanding, std::vector<float>(load.floats, 1));
  std::vector<std::vector<float>> outputs(load.outstanding, std::vector<float>(load.floats, 0));
  std::vector<BareLane> lanes;
  for (uint32_t i = 0; i < load.lanes; i++) {
    BareLane& lane = lanes.emplace_back(gpu);
    Expect(lane.from.Reserve(rows * row));
    Expect(lane.to.Reserve(rows * row));
    lane.in = gpu->Pinned(rows * row);
    lane.out = gpu->Pinned(rows * row);
    for (cuda::Event* event : {&lane.copied, &lane.computed, &lane.end})
      ExpectDriver(*gpu, call.EventCreate(event, cuda::kWithoutTiming), "cuEventCreate");
  }
  const auto finish = [&](uint32_t index) {
    BareLane& lane = lanes[index];
    if (!lane.busy) return false;
    ExpectDriver(*gpu, wait(lane.end), "cuEventSynchronize");
    for (uint32_t i = 0; i < rows; i++) {
      std::memcpy(outputs[index * rows + i].data(),
                  static_cast<const char*>(lane.out->data()) + i * row, row);
    }
    lane.busy = false;
    return true;
  };
  uint64_t batches = 0;
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (uint32_t index = 0; passed() < seconds; index = (index + 1) % load.lanes) {
    batches += finish(index) ? 1 : 0;
    BareLane& lane = lanes[index];
    for (uint32_t i = 0; i < rows; i++) {
      std::memcpy(static_cast<char*>(lane.in->data()) + i * row, inputs[index * rows + i].data(),
                  row);
    }
    ExpectDriver(*gpu, call.MemcpyHtoDAsync(lane.from.address(), lane.in->data(), rows * row, up),
                 "cuMemcpyHtoDAsync");
    if (run != up) {
      ExpectDriver(*gpu, call.EventRecord(lane.copied, up), "cuEventRecord");
      ExpectDriver(*gpu, call.StreamWaitEvent(run, lane.copied, 0), "cuStreamWaitEvent");
    }
    Expect(kernel.Launch(run, lane.to.address(), lane.from.address(), rows * load.floats));
    if (down != run) {
      ExpectDriver(*gpu, call.EventRecord(lane.computed, run), "cuEventRecord");
      ExpectDriver(*gpu, call.StreamWaitEvent(down, lane.computed, 0), "cuStreamWaitEvent");
    }
    ExpectDriver(*gpu, call.MemcpyDtoHAsync(lane.out->data(), lane.to.address(), rows * row, down),
                 "cuMemcpyDtoHAsync");
    ExpectDriver(*gpu, call.EventRecord(lane.end, down), "cuEventRecord");
    lane.busy = true;
  }
  const double took = passed();
  for (uint32_t i = 0; i < load.lanes; i++) finish(i);
  Expect(outputs[0][0] == 2 && outputs[rows - 1][load.floats - 1] == 2, "the bare loop is wrong");
  for (const BareLane& lane : lanes)
    for (const cuda::Event event : {lane.copied, lane.computed, lane.end})
      (void)call.EventDestroy(event);
  (void)call.StreamDestroy(up);
  if (run != up) (void)call.StreamDestroy(run);
  if (down != up) (void)call.StreamDestroy(down);
  const double rate = static_cast<double>(batches) / took;
  return {rate * rows, rate};
}

}  // namespace tritonts::test
