// Instances on GPUs: their requirements, and the options passed to the runtime.
#include "backends/onnxruntime/cuda_provider.h"
#include "onnxruntime_gpu_fixture.h"

namespace tritonts::test {

namespace {

std::string Bytes() {
  return Identity(kOnnxFloat, 2).Model();
}

}  // namespace

TEST(onnxruntime_names_the_file_of_the_cuda_provider_that_is_missing) {
  const TemporaryFolder folder;
  const std::string library = (folder.path() / "libonnxruntime.so.1").string();
  const auto neither = onnxruntime::FindCudaProvider(library);
  CHECK_EQ(neither.code(), Code::kUnavailable);
  for (const std::string& part :
       {std::string(kCudaFile), folder.path().string(),
        std::string("backendConfig.onnxruntime.library"), std::string("instanceKind: 'cpu'")}) {
    CHECK(Contains(neither, part));
  }
  folder.File(kCudaFile, "");
  CHECK_EQ(onnxruntime::FindCudaProvider(library).code(), Code::kUnavailable);
  CHECK(Contains(onnxruntime::FindCudaProvider(library), kSharedFile));
  folder.File(kSharedFile, "");
  CHECK(onnxruntime::FindCudaProvider(library).ok());
}

TEST(onnxruntime_refuses_gpus_that_are_not_there) {
  const auto none = onnxruntime::CheckDevices({0}, {{}, "the driver is gone"});
  CHECK_EQ(none.code(), Code::kUnavailable);
  CHECK(Contains(none, "the driver is gone"));
  CHECK(Contains(none, "instanceKind: 'cpu'"));
  const device::CudaDevices two = {{{"a", "", 0, 9, 0}, {"b", "", 0, 9, 0}}, ""};
  CHECK(onnxruntime::CheckDevices({onnxruntime::kCpu, 0, 1}, two).ok());
  const auto third = onnxruntime::CheckDevices({1, 2}, two);
  CHECK_EQ(third.code(), Code::kInvalidArg);
  CHECK(Contains(third, "there is no GPU 2; available are 0, 1"));
  const device::CudaDevices broken = {{{"a", "", 0, 9, 0}, {"b", "", 0, 0, 0, "it is lost"}}, ""};
  CHECK(onnxruntime::CheckDevices({0}, broken).ok());
  const auto lost = onnxruntime::CheckDevices({0, 1}, broken);
  CHECK_EQ(lost.code(), Code::kUnavailable);
  CHECK(Contains(lost, "GPU 1 can't be used: it is lost"));
}

TEST(onnxruntime_refuses_devices_that_make_no_sense) {
  for (const char* devices : {"", "x", "0,x", "0,0", "-2", "0,,1"}) {
    CHECK_EQ(onnxruntime::ReadSettings({{"devices", devices}}).status().code(), Code::kInvalidArg);
  }
  CHECK_EQ(onnxruntime::ReadSettings({{"cuda.device_id", "1"}}).status().code(), Code::kInvalidArg);
  CHECK(onnxruntime::ReadSettings({{"devices", "-1,0,12"}}).ok());
}

RUNTIME_TEST(onnxruntime_without_its_cuda_provider_refuses_devices) {
  const FakeRuntime runtime(false);
  const auto model = LoadBytes(Bytes(), runtime.Settings({{"devices", "0"}}));
  CHECK_EQ(model.status().code(), Code::kUnavailable);
  CHECK(Contains(model.status(), std::string(kCudaFile) + " in '" + runtime.folder() + "'"));
}

RUNTIME_TEST(onnxruntime_makes_a_session_for_each_device) {
  const FakeRuntime runtime;
  const ScopedVariable log("TRITONTS_FAKE_CUDA_LOG", runtime.log());
  auto loaded = LoadBytes(Bytes(), runtime.Settings({{"devices", "-1,0,1"},
                                                     {"cuda.gpu_mem_limit", "1000"},
                                                     {"cuda.use_tf32", "0"}}));
  CHECK_EQ(loaded.status().message(), "");
  CHECK_EQ(runtime.told(),
           "device_id=0 gpu_mem_limit=1000 use_tf32=0\ndevice_id=1 gpu_mem_limit=1000 "
           "use_tf32=0\n");
  const auto model = loaded.take();
  CHECK(model->Configure(IdentityIo(DataType::kFp32, 2), "{}").ok());
  for (const InstanceSpec& spec : {InstanceSpec{"m_0", 0, MemoryKind::kHost, 0},
                                   InstanceSpec{"m_1", 1, MemoryKind::kDevice, 0},
                                   InstanceSpec{"m_2", 2, MemoryKind::kDevice, 1}}) {
    auto instance = model->CreateInstance(spec);
    CHECK_EQ(instance.status().message(), "");
    CHECK_EQ(instance.value()->asynchronous(), spec.memory == MemoryKind::kDevice);
  }
  const auto elsewhere = model->CreateInstance({"m_3", 3, MemoryKind::kDevice, 2});
  CHECK_EQ(elsewhere.status().code(), Code::kInvalidArg);
  CHECK(Contains(elsewhere.status(), "'m_3' is to run on GPU 2"));
}

RUNTIME_TEST(onnxruntime_tells_why_the_cuda_provider_cannot_be_used) {
  const FakeRuntime runtime;
  const SettingMap settings = runtime.Settings({{"devices", "1"}});
  {
    const ScopedVariable error("TRITONTS_FAKE_CUDA_ERROR", "libcudnn.so.9: cannot open");
    const auto model = LoadBytes(Bytes(), settings);
    CHECK_EQ(model.status().code(), Code::kUnavailable);
    CHECK(Contains(model.status(), "GPU 1: libcudnn.so.9: cannot open"));
    CHECK(Contains(model.status(), "instanceKind: 'cpu'"));
  }
  const auto option =
      LoadBytes(Bytes(), runtime.Settings({{"devices", "1"}, {"cuda.no_such_option", "1"}}));
  CHECK_EQ(option.status().code(), Code::kInvalidArg);
  CHECK(Contains(option.status(), "Unknown provider option"));
  CHECK_EQ(LoadBytes(Bytes(), runtime.Settings({{"devices", "7"}})).status().code(),
           Code::kInvalidArg);
}

RUNTIME_TEST(onnxruntime_gives_tensorrt_its_options_and_cuda_the_rest) {
  const FakeRuntime runtime(true, true);
  const ScopedVariable log("TRITONTS_FAKE_CUDA_LOG", runtime.log());
  const SettingMap settings = {{"devices", "1"},
                               {"tensorrt", "1"},
                               {"tensorrt.trt_fp16_enable", "1"},
                               {"cuda.use_tf32", "0"}};
  CHECK_EQ(LoadBytes(Bytes(), runtime.Settings(settings)).status().message(), "");
  CHECK_EQ(runtime.told(), "tensorrt device_id=1 trt_fp16_enable=1\ndevice_id=1 use_tf32=0\n");
  CHECK_EQ(runtime.live(), 0);
  const FakeRuntime without;
  const auto missing = LoadBytes(Bytes(), without.Settings(settings)).status();
  CHECK_EQ(missing.code(), Code::kUnavailable);
  CHECK(Contains(missing, kTensorRtFile));
  CHECK(Contains(missing, "onnxruntime-gpu"));
  const auto refused =
      LoadBytes(
          Bytes(),
          runtime.Settings({{"devices", "1"}, {"tensorrt", "1"}, {"tensorrt.no_such_option", "1"}}))
          .status();
  CHECK_EQ(refused.code(), Code::kInvalidArg);
  CHECK(Contains(refused, "the TensorRT provider refuses an option: Unknown provider option"));
}

RUNTIME_TEST(onnxruntime_writes_a_profile_for_each_device) {
  const FakeRuntime runtime;
  const TemporaryFolder folder;
  {
    const auto model = LoadBytes(
        Bytes(),
        runtime.Settings({{"devices", "0,1"}, {"profile_prefix", (folder.path() / "p").string()}}));
    CHECK_EQ(model.status().message(), "");
  }
  size_t profiles = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string name = entry.path().filename().string();
    profiles += name.starts_with("p_gpu0_") || name.starts_with("p_gpu1_");
  }
  CHECK_EQ(profiles, 2u);
}

}  // namespace tritonts::test
