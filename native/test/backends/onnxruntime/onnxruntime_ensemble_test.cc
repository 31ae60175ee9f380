// ONNX models on GPUs as steps of ensembles: tensors between the steps stay on the GPU.
#include "gpu_chain.h"
#include "onnxruntime_gpu_fixture.h"

namespace tritonts::test {

RUNTIME_TEST_FROM(23, onnxruntime_leaves_tensors_between_the_steps_of_an_ensemble_on_the_gpu) {
  const FakeRuntime runtime;
  OnnxOnGpus backend;
  const auto before = Objects();
  for (const bool graphs : {false, true}) {
    ChainStep onnx;
    onnx.backend = &backend;
    onnx.spec = OnnxSpec(runtime, PlusOne(),
                         graphs ? SettingMap{{"cuda.enable_cuda_graph", "1"}} : SettingMap{});
    GpuChain chain({onnx, {PlanText()}, onnx});
    for (uint32_t i = 0; i < 4; i++) {
      const Copies copies;
      chain.Ask({static_cast<float>(i), 50});
      CHECK(chain.sink.Wait(i + 1));
      CHECK(chain.Answered(i, {static_cast<float>(i + 3), 53}));
      // A graph has separate memory, so tensors are copied to and from it on the device.
      CHECK(copies.Since() == (std::vector<int64_t>{1, 1, graphs ? 2 : 0}));
    }
  }
  CHECK_EQ(runtime.live(), 0);
  CHECK(Objects() == before);
}

}  // namespace tritonts::test
