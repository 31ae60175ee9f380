// The paths of the fakes, and controls for tests. The test program finds the fake CUDA driver and
// management library before any real ones.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace tritonts::test {

inline std::string FakeCudaDriver() {
  return TRITONTS_FAKES "/libcuda.so.1";
}
// TensorRT 10.0.1 by default; others: "10.16", "11", "lean", "dispatch", "rtx".
inline std::string FakeTensorRt(const std::string& which = "10") {
  const std::string file = which == "10.16"      ? "10.16/libnvinfer.so.10"
                           : which == "lean"     ? "10.16/libnvinfer_lean.so.10"
                           : which == "dispatch" ? "libnvinfer_dispatch.so.11"
                           : which == "rtx"      ? "libtensorrt_rtx.so.1"
                                                 : "libnvinfer.so." + which;
  return std::string(TRITONTS_FAKES) + "/" + file;
}
inline std::string FakeNvml() {
  return TRITONTS_FAKES "/libnvidia-ml.so.1";
}
inline std::string FakeOnnxRuntime() {
  return TRITONTS_FAKES "/libfakeonnxruntime.so";
}
// A shim of libtorch: "interface" has another interface than the backend, and "version" another
// version than the libtorch that it finds.
inline std::string FakeTorchShim(const std::string& difference) {
  return std::string(TRITONTS_FAKES) + "/libfaketorch_" + difference + ".so";
}
// A library that only the test opens.
inline std::string PlainLibrary() {
  return TRITONTS_FAKES "/libfakeplain.so";
}

// Sets an environment variable, and restores it in the destructor.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

}  // namespace tritonts::test
