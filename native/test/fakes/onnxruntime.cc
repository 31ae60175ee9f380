// ONNX Runtime with a fake CUDA provider, for tests on machines without a GPU. It forwards to the
// library that TRITONTS_TEST_ORT_LIBRARY names, except for the provider's functions. Sessions stay
// on the CPU, and the provider's options are written to a file.
//
//   TRITONTS_FAKE_CUDA_LOG    the file; a line of key=value for each session, device_id first
// TRITONTS_FAKE_CUDA_ERROR the provider cannot be loaded, for this reason
//
// The option `no_such_option` is refused.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

using Function = void (*)();

struct ApiBase {
  const Function* (*get_api)(uint32_t version);
  const char* (*get_version_string)();
};

// How many functions of a version the backend may use (its table.h).
constexpr size_t kFunctions = 415;
size_t FunctionsOf(uint32_t version) {
  return version >= 24 ? kFunctions : version >= 18 ? 280 : 276;
}

// Set once and kept, like the real library.
const ApiBase* real = nullptr;
Function table[kFunctions];

struct CudaOptions {
  std::string told;
};

void* Fail(int code, const std::string& text) {
  return reinterpret_cast<void* (*)(int, const char*)>(table[0])(code, text.c_str());
}

void* Create(CudaOptions** out) {
  *out = new CudaOptions();
  return nullptr;
}

void Release(CudaOptions* options) {
  delete options;
}

void* Update(CudaOptions* options, const char* const* keys, const char* const* values,
             size_t count) {
  if (const char* error = std::getenv("TRITONTS_FAKE_CUDA_ERROR")) return Fail(1, error);
  options->told.clear();
  for (size_t i = 0; i < count; i++) {
    if (std::string(keys[i]) == "no_such_option")
      return Fail(2, "Unknown provider option: \"no_such_option\".");
    options->told += (i > 0 ? " " : "") + std::string(keys[i]) + "=" + values[i];
  }
  return nullptr;
}

void* Append(void*, const CudaOptions* options) {
  if (const char* file = std::getenv("TRITONTS_FAKE_CUDA_LOG")) {
    std::ofstream(file, std::ios::app) << options->told << "\n";
  }
  return nullptr;
}

const Function* GetApi(uint32_t version) {
  const Function* functions = real->get_api(version);
  if (!functions) return nullptr;
  for (size_t i = 0; i < FunctionsOf(version); i++) table[i] = functions[i];
  table[204] = reinterpret_cast<Function>(Append);
  table[205] = reinterpret_cast<Function>(Create);
  table[206] = reinterpret_cast<Function>(Update);
  table[208] = reinterpret_cast<Function>(Release);
  return table;
}

const char* GetVersionString() {
  return real->get_version_string();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const ApiBase* OrtGetApiBase() {
  static const ApiBase base = {GetApi, GetVersionString};
  if (!real) {
    const char* file = std::getenv("TRITONTS_TEST_ORT_LIBRARY");
    void* library = dlopen(file ? file : "", RTLD_NOW | RTLD_LOCAL);
    void* symbol = library ? dlsym(library, "OrtGetApiBase") : nullptr;
    if (!symbol) std::abort();
    real = reinterpret_cast<const ApiBase* (*)()>(symbol)();
  }
  return &base;
}
