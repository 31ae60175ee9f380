// The upper bound of a server's throughput with PyTorch: a loop that only gathers a batch and runs
// it. Arguments and lines are those of bare_loop.cc.
//
// It is compiled against the libtorch that is measured (bench/frameworks/frameworks.ts), with the
// flags of the shim, and uses nothing of ours but the requests and the clock.
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/script.h>

#include <cstdint>
#include <vector>

#include "loop.h"

namespace {

using tritonts::bench::Arguments;

void Main(const Arguments& arguments) {
  at::set_num_threads(arguments.threads);
  const c10::InferenceMode inference;
  torch::jit::Module module = torch::jit::load(arguments.model, c10::Device(c10::kCPU));
  tritonts::bench::Requests requests(arguments.input);
  const auto type = arguments.input.ids ? c10::kLong : c10::kFloat;
  tritonts::bench::AnswerLines([&](int64_t batch, std::chrono::milliseconds time) {
    const std::vector<int64_t> shape = arguments.input.Shape(batch);
    std::vector<char> gathered(arguments.input.bytes() * static_cast<size_t>(batch));
    // The profiling executor compiles in the first runs with a shape.
    const auto run = [&] {
      requests.Gather(batch, gathered.data());
      const at::Tensor x = at::from_blob(gathered.data(), shape, at::TensorOptions().dtype(type));
      const at::Tensor y = module.forward({x}).toTensor();
      if (!y.is_contiguous()) std::abort();
    };
    for (int i = 0; i < 3; i++) run();
    tritonts::bench::Measure(batch, time, run);
  });
}

}  // namespace

int main(int count, char** arguments) {
  Main(tritonts::bench::ReadArguments(count, arguments));
  return 0;
}
