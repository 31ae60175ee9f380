// Shared by tests of ONNX Runtime on GPUs. GPUs, driver and providers are the fakes of test/fakes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu_work.h"

namespace tritonts::test {

inline constexpr char kCudaFile[] = "libonnxruntime_providers_cuda.so";
inline constexpr char kSharedFile[] = "libonnxruntime_providers_shared.so";
inline constexpr char kTensorRtFile[] = "libonnxruntime_providers_tensorrt.so";

// A folder with a copy of the fake runtime, which counts as a separate library, and the providers'
// files.
class FakeRuntime {
 public:
  explicit FakeRuntime(bool provider = true, bool tensorrt = false) {
    std::filesystem::copy_file(FakeOnnxRuntime(), library());
    if (!provider) return;
    folder_.File(kCudaFile, "");
    folder_.File(kSharedFile, "");
    if (tensorrt) folder_.File(kTensorRtFile, "");
  }
  std::string library() const { return (folder_.path() / "libonnxruntime.so.1").string(); }
  std::string folder() const { return folder_.path().string(); }
  std::string log() const { return (folder_.path() / "log").string(); }
  // The provider options of the sessions.
  std::string told() const {
    std::ifstream file(log());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  SettingMap Settings(SettingMap more) const {
    more["library"] = library();
    return more;
  }
  template <typename Function>
  Function* Call(const char* name) const {
    return Of<Function>(library(), name);
  }
  // The number of the runtime's live objects that concern GPUs.
  int live() const { return Call<int()>("fakeOrtLive")(); }
  // Releases the sessions that were leaked on lost GPUs, once these GPUs are closed. Returns their
  // number.
  int ReleaseLeft() const {
    CHECK(Eventually([] { return Objects()[0] == 0; }));
    return Call<int()>("fakeOrtReleaseLeft")();
  }

 private:
  TemporaryFolder folder_;
};

// A copyable backend for a bench that owns its backend.
class OnnxOnGpus final : public Backend {
 public:
  StatusOr<std::unique_ptr<Model>> Load(const ModelSpec& spec) override {
    return OnnxRuntimeBackend()->Load(spec);
  }
  bool may_run_on_js_thread() const override {
    return OnnxRuntimeBackend()->may_run_on_js_thread();
  }
};

inline ModelSpec OnnxSpec(const FakeRuntime& runtime, const OnnxModelWriter& writer,
                          SettingMap more = {}) {
  more.try_emplace("devices", "0");
  more.try_emplace("intra_op_threads", "1");
  ModelSpec spec{"m", 1, "model.onnx", runtime.Settings(std::move(more))};
  spec.files["model.onnx"] = std::make_shared<const std::string>(writer.Model());
  return spec;
}

// y = x + 1, [N, 4].
inline OnnxModelWriter PlusOne(const std::string& input = "x", const std::string& output = "y") {
  return OnnxModelWriter()
      .Initializer("one", kOnnxFloat, {1}, Raw<float>({1}))
      .Input(input, Tensor(kOnnxFloat, {-1, 4}))
      .Node("Add", {input, "one"}, {output})
      .Output(output, Tensor(kOnnxFloat, {-1, 4}));
}

// A version that serves the model.
class OnnxBench : public VersionBench {
 public:
  OnnxBench(const FakeRuntime& runtime, const OnnxModelWriter& writer, const ModelIo& io,
            SettingMap more = {}, const std::vector<int>& devices = {0})
      : VersionBench(std::make_unique<OnnxOnGpus>(), OnnxSpec(runtime, writer, std::move(more))) {
    const Status status = version().Start(OnGpus(devices, io));
    CHECK_EQ(status.message(), "");
  }
  // Submits a request with one input; its slot is the number of earlier requests.
  void Ask(std::vector<int64_t> shape, const std::vector<float>& values, uint32_t rows = 1) {
    Request* const request = requests.Add(rows);
    requests.Input(request, 0, DataType::kFp32, std::move(shape), tritonts::test::BytesOf(values));
    Submit({request});
  }
  std::vector<float> Answer(uint32_t slot) {
    auto response = sink.Of(slot);
    CHECK_EQ(response.status.message(), "");
    return response.status.ok() ? Values<float>(response.outputs[0].bytes) : std::vector<float>();
  }
};

}  // namespace tritonts::test
