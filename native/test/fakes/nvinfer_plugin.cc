// A plugin library for the fake TensorRT. Like NVIDIA's, it registers its plugins on request; built
// with FAKE_PLUGIN_AT_ONCE, it registers them when opened, like other libraries.
#include <dlfcn.h>

#include <cstdlib>

namespace {

void Register(const char* name) {
  void* const library = dlopen(FAKE_NVINFER_FILE, RTLD_NOW | RTLD_NOLOAD);
  if (!library) std::abort();
  reinterpret_cast<void (*)(const char*)>(dlsym(library, "fakeInferRegister"))(name);
  dlclose(library);
}

#if defined(FAKE_PLUGIN_AT_ONCE)
[[maybe_unused]] const bool registered = (Register("OwnPlugin"), true);
#endif

}  // namespace

#if !defined(FAKE_PLUGIN_AT_ONCE)
extern "C" __attribute__((visibility("default"))) bool initLibNvInferPlugins(void* logger,
                                                                             const char* space) {
  if (!logger || !space || *space != '\0') std::abort();
  Register("NvidiasPlugin");
  return true;
}
#endif
