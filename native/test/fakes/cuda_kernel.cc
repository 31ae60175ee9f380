// The fake driver's kernels. It knows one, and does what its PTX text says: add_one, of the program
// in test/gpu.
#include <cstring>

#include "cuda_state.h"

using namespace tritonts::fakes;

namespace {

constexpr int kNotFound = 500;
int one_module = 0;
int one_function = 0;

}  // namespace

EXPORTED int cuModuleLoadDataEx(void** module, const void* text, unsigned, int*, void**) {
  static Call call("cuModuleLoadDataEx");
  if (const int result = call.Begin()) return result;
  if (!std::strstr(static_cast<const char*>(text), ".entry add_one(")) return kInvalidValue;
  *module = &one_module;
  return 0;
}

EXPORTED int cuModuleGetFunction(void** function, void*, const char* name) {
  static Call call("cuModuleGetFunction");
  if (const int result = call.Begin()) return result;
  if (std::strcmp(name, "add_one") != 0) return kNotFound;
  *function = &one_function;
  return 0;
}

EXPORTED int cuModuleUnload(void*) {
  static Call call("cuModuleUnload");
  return call.Begin();
}

EXPORTED int cuLaunchKernel(void*, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                            unsigned, unsigned, Stream* stream, void** arguments, void**) {
  static Call call("cuLaunchKernel");
  if (const int result = call.Begin()) return result;
  uint64_t to = 0;
  uint64_t from = 0;
  uint32_t count = 0;
  std::memcpy(&to, arguments[0], sizeof(to));
  std::memcpy(&from, arguments[1], sizeof(from));
  std::memcpy(&count, arguments[2], sizeof(count));
  if (uint64_t{blocks} * threads < count) return kInvalidValue;
  auto* const target = reinterpret_cast<float*>(ShadowOf("add_one", to, count * sizeof(float)));
  const auto* const source =
      reinterpret_cast<const float*>(ShadowOf("add_one", from, count * sizeof(float)));
  stream->Put(Kind::kKernel, [=] {
    for (uint32_t i = 0; i < count; i++) target[i] = source[i] + 1;
  });
  return 0;
}
