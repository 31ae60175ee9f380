// The paths of the fakes, and controls for tests. The test program finds the fake CUDA driver and
// management library before any real ones.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

extern char** environ;  // no header of macOS declares it

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

// Sets an environment variable, or removes it. Threads of fakes read variables meanwhile, and
// setenv may free what they read. So nothing is freed here, and the new list takes the place of the
// old one at once. Called by the main thread.
inline void SetVariable(const std::string& name, const std::optional<std::string>& value) {
  static std::deque<std::string> texts;
  static std::deque<std::vector<char*>> lists;
  std::vector<char*>& list = lists.emplace_back();
  for (char** one = environ; *one; one++) {
    if (std::string_view(*one).substr(0, name.size() + 1) != name + "=") list.push_back(*one);
  }
  if (value) list.push_back(texts.emplace_back(name + "=" + *value).data());
  list.push_back(nullptr);
  environ = list.data();
}

// Sets an environment variable, and restores it in the destructor.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    SetVariable(name_, value);
  }
  ~ScopedVariable() { SetVariable(name_, before_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* const name_;
  std::optional<std::string> before_;
};

}  // namespace tritonts::test
