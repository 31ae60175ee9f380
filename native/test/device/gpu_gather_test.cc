// The kernel that gathers inputs on a GPU from many pieces.
#include "device/gather_kernel.h"
#include "gpu_chain.h"

namespace tritonts::test {

namespace {

int64_t Kernels() {
  return CallsOf("cuLaunchKernel");
}
int Modules() {
  return OfDriver<int()>("fakeCudaModules")();
}

// Two steps, the second of which waits for this many rows.
std::vector<ChainStep> Gathering(uint32_t rows, const std::string& threshold) {
  return {{PlanText()},
          {PlanText(),
           {0},
           Dynamic(8, {rows}, kLong),
           {{"gather_kernel_buffer_threshold", threshold}}}};
}

// Submits one row after the other; the first step computes each one alone.
void AskApart(GpuChain* chain, uint32_t count) {
  const uint64_t before = chain->step(0).statistics().success.count;
  for (uint32_t i = 0; i < count; i++) {
    chain->Ask({static_cast<float>(10 * i)});
    CHECK(Eventually([&] { return chain->step(0).statistics().success.count == before + i + 1; }));
  }
}

}  // namespace

TEST(gpu_kernel_gathers_an_input_of_many_pieces) {
  {
    GpuChain chain(Gathering(3, "3"));
    CHECK_EQ(Modules(), 1);
    const Copies before;
    const int64_t kernels = Kernels();
    AskApart(&chain, 3);
    CHECK(chain.sink.Wait(3));
    for (uint32_t i = 0; i < 3; i++) CHECK(chain.Answered(i, {static_cast<float>(10 * i + 2)}));
    CHECK_EQ(Kernels() - kernels, 1);
    CHECK(before.Since() == (std::vector<int64_t>{3, 1, 0}));
  }
  CHECK_EQ(Modules(), 0);
  CHECK(Objects() == kNone);
}

TEST(gpu_kernel_gathers_from_pinned_memory_what_comes_from_the_host) {
  GpuChain chain(Gathering(4, "2"));
  const Copies before;
  const int64_t kernels = Kernels();
  AskApart(&chain, 2);
  chain.AskStep(1, {100});
  chain.AskStep(1, {200});
  CHECK(chain.sink.Wait(4));
  CHECK(chain.Answered(0, {2}));
  CHECK(chain.Answered(1, {12}));
  CHECK(chain.Answered(2, {101}));
  CHECK(chain.Answered(3, {201}));
  CHECK_EQ(Kernels() - kernels, 1);
  CHECK(before.Since() == (std::vector<int64_t>{2, 1, 0}));
}

TEST(gpu_kernel_is_not_used_for_fewer_pieces_or_other_inputs) {
  const int64_t kernels = Kernels();
  {
    GpuChain fewer(Gathering(2, "3"));
    AskApart(&fewer, 2);
    CHECK(fewer.sink.Wait(2));
    CHECK(fewer.Answered(1, {12}));
  }
  // Parts that are all on the host are one piece in pinned memory.
  {
    GpuChain host(Gathering(3, "1"));
    for (const float first : {1, 2, 3}) host.AskStep(1, {first});
    CHECK(host.sink.Wait(3));
    CHECK(host.Answered(2, {4}));
  }
  // The kernel reads only the memory of its own GPU.
  {
    std::vector<ChainStep> steps = Gathering(2, "1");
    steps[0].devices = {1};
    GpuChain apart(steps);
    AskApart(&apart, 2);
    CHECK(apart.sink.Wait(2));
    CHECK(apart.Answered(1, {12}));
  }
  CHECK_EQ(Kernels(), kernels);
}

// The device cannot read plain host memory, where the table of pieces would be.
TEST(gpu_kernel_is_not_used_without_pinned_memory) {
  device::Gpu::LimitPinned(0);
  {
    GpuChain chain(Gathering(2, "1"));
    const int64_t kernels = Kernels();
    const Copies before;
    AskApart(&chain, 2);
    CHECK(chain.sink.Wait(2));
    CHECK(chain.Answered(1, {12}));
    CHECK_EQ(Kernels(), kernels);
    CHECK_EQ(before.Since()[2], 2);
  }
  device::Gpu::LimitPinned(device::Gpu::kMostPinnedBytes);
}

TEST(gpu_kernel_that_fails_fails_its_batch_or_the_load) {
  {
    GpuChain chain(Gathering(2, "1"));
    FailOnce("cuLaunchKernel", 2);
    AskApart(&chain, 2);
    CHECK(chain.sink.Wait(2));
    CHECK(Contains(chain.sink.Of(0).status,
                   "input 'x': GPU 0: cuLaunchKernel failed with CUDA_ERROR_OUT_OF_MEMORY"));
    AskApart(&chain, 2);
    CHECK(chain.sink.Wait(4));
    CHECK(chain.Answered(3, {12}));
  }
  for (const char* function : {"cuModuleLoadDataEx", "cuModuleGetFunction"}) {
    FailOnce(function, 2);
    VersionBench bench(std::make_unique<TensorRtBackend>(),
                       PlanWith({{"gather_kernel_buffer_threshold", "1"}}));
    CHECK(Contains(bench.version().Start(OnGpus({0})), "CUDA_ERROR_OUT_OF_MEMORY"));
  }
  CHECK_EQ(Modules(), 0);
  CHECK(Objects() == kNone);
}

}  // namespace tritonts::test
