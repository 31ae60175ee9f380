// ONNX Runtime with a fake CUDA provider and a fake TensorRT provider, for tests on machines
// without a GPU. It forwards to the library of TRITONTS_TEST_ORT_LIBRARY, except for functions that
// concern providers, sessions on GPUs, and tensors in device memory (onnxruntime_runs.cc).
//
//   TRITONTS_FAKE_CUDA_LOG    a file; a line of key=value for each provider of a session, device_id
//                             first, after "tensorrt " for that provider
//   TRITONTS_FAKE_CUDA_ERROR  providers cannot be loaded, for this reason
//   TRITONTS_FAKE_ORT_VERSION the version that it reports
//
// The option `no_such_option` is rejected.
#include "onnxruntime.h"

#include <dlfcn.h>

#include <cstdio>
#include <fstream>

#include "cuda_driver.h"

namespace tritonts::fakes::ort {

const Function* real_table = nullptr;

void* Fail(int code, const std::string& text) {
  return Real(0, code, text.c_str());
}

void Die(const std::string& why) {
  std::fprintf(stderr, "fake ONNX Runtime: %s\n", why.c_str());
  std::abort();
}

void* OfDriver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const function = library ? dlsym(library, name) : nullptr;
  if (!function) Die(std::string("the fake driver is not open, or has no ") + name);
  return function;
}

State& Here() {
  static auto* const state = new State();
  return *state;
}

namespace {

struct Options {
  const char* provider;
  std::string told;
  Place place;
};

void* CreateOptions(const char* provider, Options** out) {
  *out = new Options{provider, "", {}};
  const std::lock_guard lock(Here().mutex);
  Here().live++;
  return nullptr;
}
void* CreateCuda(Options** out) {
  return CreateOptions("", out);
}
void* CreateTensorRt(Options** out) {
  return CreateOptions("tensorrt ", out);
}

void Release(Options* options) {
  if (!options) return;
  delete options;
  const std::lock_guard lock(Here().mutex);
  Here().live--;
}

// Like the real function, it resets all options first.
void* Update(Options* options, const char* const* keys, const char* const* values, size_t count) {
  if (const char* error = std::getenv("TRITONTS_FAKE_CUDA_ERROR")) return Fail(1, error);
  options->told.clear();
  options->place = {};
  for (size_t i = 0; i < count; i++) {
    const std::string key = keys[i];
    if (key == "no_such_option") return Fail(2, "Unknown provider option: \"no_such_option\".");
    if (key == "device_id") options->place.device = std::atoi(values[i]);
    if (key == "enable_cuda_graph") options->place.graphs = std::string(values[i]) == "1";
    options->told += (i > 0 ? " " : "") + key + "=" + values[i];
  }
  return nullptr;
}

void* UpdatePointer(Options* options, const char* key, void* value) {
  if (std::string(key) != "user_compute_stream") return Fail(2, "unknown pointer");
  options->place.stream = value;
  return nullptr;
}

void* Append(void* session_options, const Options* options) {
  if (!options->place.stream) Die("a provider was given no stream");
  if (const char* file = std::getenv("TRITONTS_FAKE_CUDA_LOG")) {
    std::ofstream(file, std::ios::app) << options->provider << options->told << "\n";
  }
  const std::lock_guard lock(Here().mutex);
  const auto known = Here().options.find(session_options);
  if (known != Here().options.end() && known->second.stream != options->place.stream)
    Die("the providers of a session have different streams");
  Here().options[session_options] = options->place;
  return nullptr;
}

}  // namespace

void ReplaceProviders(Function* table) {
  table[170] = At(Append);
  table[171] = At(CreateTensorRt);
  table[172] = At(Update);
  table[174] = At(Release);
  table[204] = At(Append);
  table[205] = At(CreateCuda);
  table[206] = At(Update);
  table[208] = At(Release);
  table[261] = At(UpdatePointer);
  table[263] = At(UpdatePointer);
}

}  // namespace tritonts::fakes::ort

namespace {

using namespace tritonts::fakes::ort;

struct ApiBase {
  const Function* (*get_api)(uint32_t version);
  const char* (*get_version_string)();
};

// The number of functions of a version that the backend may use (see its table.h).
constexpr size_t kFunctions = 415;
size_t FunctionsOf(uint32_t version) {
  return version >= 24 ? kFunctions : version >= 23 ? 390 : version >= 18 ? 280 : 276;
}

// Set once and never released, like the real library.
const ApiBase* real = nullptr;
Function table[kFunctions];

const Function* GetApi(uint32_t version) {
  real_table = real->get_api(version);
  if (!real_table) return nullptr;
  for (size_t i = 0; i < FunctionsOf(version); i++) table[i] = real_table[i];
  ReplaceProviders(table);
  ReplaceRuns(table);
  return table;
}

const char* GetVersionString() {
  const char* const version = std::getenv("TRITONTS_FAKE_ORT_VERSION");
  return version ? version : real->get_version_string();
}

}  // namespace

EXPORTED const ApiBase* OrtGetApiBase() {
  static const ApiBase base = {GetApi, GetVersionString};
  if (!real) {
    const char* file = std::getenv("TRITONTS_TEST_ORT_LIBRARY");
    void* library = dlopen(file ? file : "", RTLD_NOW | RTLD_LOCAL);
    void* symbol = library ? dlsym(library, "OrtGetApiBase") : nullptr;
    if (!symbol) Die("there is no real one");
    real = reinterpret_cast<const ApiBase* (*)()>(symbol)();
  }
  return &base;
}

// The number of provider options, bindings, sessions on GPUs, and tensors in the runtime's memory.
EXPORTED int fakeOrtLive() {
  const std::lock_guard lock(Here().mutex);
  return Here().live + static_cast<int>(Here().sessions.size());
}
