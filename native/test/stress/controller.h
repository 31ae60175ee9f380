// The controller of the stress program: it loads, publishes and retires versions.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "contract_backend.h"
#include "onnxruntime_fixture.h"
#include "server_fixture.h"
#include "test/stress/gpus.h"
#include "test/stress/stress.h"

namespace tritonts::test {

// Owned and used by one thread.
class Controller {
 public:
  // `gpus` must outlive the controller.
  Controller(ServerBench* bench, const Gpus* gpus, uint64_t seed)
      : bench_(bench), gpus_(*gpus), random_(seed) {
    if (LibraryPath().empty()) return;
    onnx_path_ = folder_.File("model.onnx", OnnxModelWriter()
                                                .Input("x0", Tensor(kOnnxFloat, {-1, 4}))
                                                .Node("Add", {"x0", "x0"}, {"y0"})
                                                .Output("y0", Tensor(kOnnxFloat, {-1, 4}))
                                                .Model());
  }

  void Run(uint64_t until_ns);
  // Every retirement must have ended without abandoning its version.
  void Finish();

 private:
  void Serve();
  void Publish();
  void RetireOne();
  void Retire(uint32_t uid);

  ServerBench* const bench_;
  const Gpus& gpus_;
  Random random_;
  ContractBackend contract_;
  const TemporaryFolder folder_;
  std::string onnx_path_;
  std::vector<Target> served_;
  int retiring_ = 0;
  std::atomic<int> retired_{0};
};

}  // namespace tritonts::test
