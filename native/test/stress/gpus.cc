#include "test/stress/gpus.h"

#include "device/gpu.h"

namespace tritonts::test {

Gpus::Gpus() {
  if (!LibraryPath().empty()) runtime_ = std::make_unique<FakeRuntime>();
}

ModelSpec Gpus::SpecOf(Kind kind, uint32_t max_batch_size, Random* random) const {
  std::map<std::string, std::string> settings{
      {"max_concurrency", std::to_string(1 + random->Up(2))}};
  if (random->Once(4)) settings["busy_wait_events"] = "true";
  if (kind == Kind::kPlan) {
    if (random->Once(4)) settings["execution_policy"] = "BLOCKING";
    if (random->Once(4)) settings["output_copy_stream"] = "true";
    const std::string most = std::to_string(max_batch_size);
    return PlanSpec(
        "fake-plan 10\nop copy\ninput x0 0 0 0 -1 4\noutput y0 0 0 0 -1 4\nprofile x0 1 4 " + most +
            " 4 " + most + " 4\n",
        "0,1", random->Once(2) ? "10" : "10.16", settings);
  }
  settings["devices"] = "0,1";
  if (random->Once(3)) settings["cuda.enable_cuda_graph"] = "1";
  return OnnxSpec(*runtime_,
                  OnnxModelWriter()
                      .Input("x0", Tensor(kOnnxFloat, {-1, 4}))
                      .Node("Add", {"x0", "x0"}, {"y0"})
                      .Output("y0", Tensor(kOnnxFloat, {-1, 4})),
                  std::move(settings));
}

void Gpus::Place(VersionConfig* config, Random* random) {
  for (InstanceSpec& instance : config->instances) {
    instance.memory = MemoryKind::kDevice;
    instance.device = static_cast<int>(random->Up(kGpus - 1));
  }
}

bool Gpus::LeftSomething() const {
  if (!Eventually([] { return Objects()[0] == 0; })) return true;
  // Sessions on lost GPUs were leaked there.
  if (runtime_) (void)runtime_->ReleaseLeft();
  const bool objects = Eventually([] { return Objects() == kNone; });
  return !objects || (runtime_ && runtime_->live() != 0) ||
         device::Gpu::PinnedCounts().used_bytes != 0;
}

}  // namespace tritonts::test
