// A library of plugins for the fake TensorRT. As NVIDIA's, it registers them when it is asked to;
// as those of others, built with FAKE_PLUGIN_AT_ONCE, when it is opened.
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
