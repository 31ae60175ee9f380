// The versions and kinds of TensorRT: which are usable, and that plans run with each. Driver, GPUs
// and TensorRT are the fakes of test/fakes.
#include <filesystem>

#include "backends/tensorrt/library.h"
#include "device/cuda.h"
#include "tensorrt_fixture.h"

namespace tritonts::test {

namespace {

// A library that reads a plan, and how it reports its version.
struct Reader {
  const char* which;
  const char* major;
  const char* text;
};
constexpr Reader kReaders[] = {{"10", "10", "10.0.1"},
                               {"10.16", "10", "10.16.1"},
                               {"11", "11", "11.1.0"},
                               {"rtx", "rtx", "for RTX 1.7.1"}};

}  // namespace

TEST(tensorrt_answers_with_each_version) {
  for (const auto& [which, major, text] : kReaders) {
    PlanBench bench(PlanSpec(PlanText("add", "0 0 0 -1 4", major), "0", which));
    for (int i = 0; i < 20; i++) bench.Ask({static_cast<float>(i)});
    CHECK(bench.sink.Wait(20));
    for (uint32_t i = 0; i < 20; i++) CHECK(bench.Answered(i, static_cast<float>(i)));
    CHECK_EQ(tensorrt::Library::Open(FakeTensorRt(which)).value()->version().text, text);
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_refuses_the_plan_of_another_version_in_the_library_s_words) {
  for (const auto& [which, major, text] : kReaders) {
    for (const auto& other : kReaders) {
      if (major == std::string(other.major)) continue;
      const Status status =
          TensorRtBackend()
              .Load(PlanSpec(PlanText("add", "0 0 0 -1 4", other.major), "0", which))
              .status();
      CHECK_EQ(status.code(), Code::kInvalidArg);
      CHECK(Contains(status, "TensorRT " + std::string(text) + " can't read the plan"));
      CHECK(Contains(status, "is not compatible with this version of TensorRT"));
    }
  }
  CHECK(Objects() == kNone);
}

// The real library returns an invalid object, and crashes when that is used.
TEST(tensorrt_does_not_take_garbage_for_a_runtime) {
  auto library = tensorrt::Library::Open(FakeTensorRt());
  CHECK(library.ok());
  {
    const ScopedVariable failing("TRITONTS_FAKE_CUDA", "100");
    CHECK(device::AskCudaDriver(FakeCudaDriver()).devices.empty());
    const auto runtime = library.value()->MakeRuntime();
    CHECK_EQ(runtime.status().code(), Code::kUnavailable);
    CHECK(Contains(runtime.status(), "can't start: CUDA initialization failure with error: 35"));
  }
  CHECK_EQ(device::AskCudaDriver(FakeCudaDriver()).devices.size(), 2u);
}

TEST(tensorrt_refuses_libraries_of_other_versions) {
  const auto missing = tensorrt::Library::Open("libnosuchinfer.so");
  CHECK_EQ(missing.status().code(), Code::kUnavailable);
  CHECK(Contains(missing.status(), "backendConfig.tensorrt.library"));
  CHECK(Contains(tensorrt::Library::Open(PlainLibrary()).status(), "has no getInferLibVersion"));
  const TemporaryFolder folder;
  for (const auto& [number, text] :
       {std::pair{"8600", "8.6.0"}, std::pair{"9300", "9.3.0"}, std::pair{"120000", "12.0.0"}}) {
    const std::string file = (folder.path() / number).string();
    std::filesystem::copy_file(FakeTensorRt(), file);
    const ScopedVariable version("TRITONTS_FAKE_NVINFER_VERSION", number);
    const auto refused = tensorrt::Library::Open(file);
    CHECK_EQ(refused.status().code(), Code::kUnsupported);
    CHECK(Contains(refused.status(),
                   std::string("is TensorRT ") + text + "; supported are 10.x, 11.x"));
  }
  // The objects of older versions were not verified.
  const std::string file = (folder.path() / "rtx").string();
  std::filesystem::copy_file(FakeTensorRt("rtx"), file);
  const ScopedVariable version("TRITONTS_FAKE_NVINFER_VERSION", "10300");
  const auto refused = tensorrt::Library::Open(file);
  CHECK_EQ(refused.status().code(), Code::kUnsupported);
  CHECK(Contains(refused.status(), "is TensorRT for RTX 1.3.0"));
}

}  // namespace tritonts::test
