// CUDA graphs: work that is recorded, and enqueued again by one call.
#include "device/cuda.h"
#include "device/gpu.h"
#include "device/graph.h"
#include "gpu_work.h"

namespace tritonts::test {

namespace {

using device::DeviceMemory;
using device::Gpu;
using device::Graph;

// A GPU with two streams, an event, and memory for a number.
struct GpuGraphBench {
  std::shared_ptr<Gpu> gpu = Gpu::Open(device::FindCudaDevices().driver, 0).take();
  Gpu::Current current{*gpu};
  device::cuda::Stream stream = gpu->MakeStream().value();
  device::cuda::Stream other = gpu->MakeStream().value();
  device::cuda::Event event = nullptr;
  device::cuda::Event back = nullptr;
  DeviceMemory memory{gpu};
  BlockRef from = gpu->Pinned(sizeof(int));
  BlockRef to = gpu->Pinned(sizeof(int));

  GpuGraphBench() {
    CHECK(memory.Reserve(sizeof(int)).ok());
    CHECK_EQ(gpu->call().EventCreate(&event, device::cuda::kWithoutTiming), 0);
    CHECK_EQ(gpu->call().EventCreate(&back, device::cuda::kWithoutTiming), 0);
  }
  ~GpuGraphBench() {
    for (const auto one : {stream, other}) (void)gpu->call().StreamDestroy(one);
    for (const auto one : {event, back}) (void)gpu->call().EventDestroy(one);
  }
  int& Number(const BlockRef& block) { return *static_cast<int*>(block->data()); }

  Status Up(device::cuda::Stream on) {
    return gpu->Check(gpu->call().MemcpyHtoDAsync(memory.address(), from->data(), sizeof(int), on),
                      "up");
  }
  Status Down(device::cuda::Stream on) {
    return gpu->Check(gpu->call().MemcpyDtoHAsync(to->data(), memory.address(), sizeof(int), on),
                      "down");
  }
  // Makes one stream wait for the other.
  Status Follow(device::cuda::Stream after, device::cuda::Stream before, device::cuda::Event by) {
    Status status = gpu->Check(gpu->call().EventRecord(by, before), "record");
    if (status.ok()) status = gpu->Check(gpu->call().StreamWaitEvent(after, by, 0), "wait");
    return status;
  }
  StatusOr<Graph> RoundTrip() {
    return Graph::Record(gpu, stream, [&] {
      Status status = Up(stream);
      if (status.ok()) status = Down(stream);
      return status;
    });
  }
};

int Graphs() {
  return OfDriver<int()>("fakeCudaGraphs")();
}

}  // namespace

TEST(gpu_graph_does_nothing_when_it_is_recorded_and_all_when_it_is_launched) {
  {
    GpuGraphBench bench;
    bench.Number(bench.to) = 0;
    bench.Number(bench.from) = 7;
    auto graph = bench.RoundTrip();
    CHECK(graph.ok());
    bench.gpu->Drain(bench.stream);
    CHECK_EQ(bench.Number(bench.to), 0);
    for (const int number : {8, 9, 10}) {
      bench.Number(bench.from) = number;
      const int64_t copies = CallsOf("cuMemcpyHtoDAsync_v2") + CallsOf("cuMemcpyDtoHAsync_v2");
      CHECK(graph.value().Launch(bench.stream).ok());
      CHECK_EQ(CallsOf("cuMemcpyHtoDAsync_v2") + CallsOf("cuMemcpyDtoHAsync_v2"), copies);
      bench.gpu->Drain(bench.stream);
      CHECK_EQ(bench.Number(bench.to), number);
    }
  }
  CHECK_EQ(Graphs(), 0);
  CHECK(Objects() == kNone);
}

TEST(gpu_graph_takes_streams_in_that_wait_for_its_own) {
  {
    GpuGraphBench bench;
    const auto forked = [&](bool joins) {
      return Graph::Record(bench.gpu, bench.stream, [&] {
        Status status = bench.Up(bench.stream);
        if (status.ok()) status = bench.Follow(bench.other, bench.stream, bench.event);
        if (status.ok()) status = bench.Down(bench.other);
        if (status.ok() && joins) status = bench.Follow(bench.stream, bench.other, bench.back);
        return status;
      });
    };
    auto graph = forked(true);
    CHECK(graph.ok());
    bench.Number(bench.from) = 5;
    CHECK(graph.value().Launch(bench.stream).ok());
    bench.gpu->Drain(bench.stream);
    CHECK_EQ(bench.Number(bench.to), 5);
    CHECK(Contains(forked(false).status(), "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"));
    // The streams are no longer recording.
    CHECK(bench.Up(bench.other).ok());
    bench.gpu->Drain(bench.other);
  }
  CHECK_EQ(Graphs(), 0);
}

TEST(gpu_graph_that_cannot_be_recorded_leaves_the_stream_as_it_was) {
  {
    GpuGraphBench bench;
    const auto own =
        Graph::Record(bench.gpu, bench.stream, [] { return Status::InvalidArg("not this one"); });
    CHECK_EQ(own.status().message(), "not this one");
    const auto waits = Graph::Record(bench.gpu, bench.stream, [&] {
      return bench.gpu->Check(bench.gpu->call().StreamSynchronize(bench.stream), "waiting");
    });
    CHECK(Contains(waits.status(), "waiting failed with CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"));
    bool thrown = false;
    try {
      (void)Graph::Record(bench.gpu, bench.stream, []() -> Status { throw std::bad_alloc(); });
    } catch (const std::bad_alloc&) {
      thrown = true;
    }
    CHECK(thrown);
    for (const char* function :
         {"cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"}) {
      FailOnce(function, 2);
      CHECK(Contains(bench.RoundTrip().status(), "CUDA_ERROR_OUT_OF_MEMORY"));
    }
    auto graph = bench.RoundTrip();
    CHECK(graph.ok());
    bench.Number(bench.from) = 3;
    CHECK(graph.value().Launch(bench.stream).ok());
    bench.gpu->Drain(bench.stream);
    CHECK_EQ(bench.Number(bench.to), 3);
  }
  CHECK_EQ(Graphs(), 0);
  CHECK(Objects() == kNone);
}

}  // namespace tritonts::test
