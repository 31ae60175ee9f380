// A shim of libtorch that does not fit: FAKE_TORCH_INTERFACE is the number of its interface, and
// the libtorch that it finds is another one than the one that it was compiled against.
#include "backends/pytorch/shim/shim.h"

#if defined(_WIN32)
#define TORCH_SHIM_EXPORT __declspec(dllexport)
#else
#define TORCH_SHIM_EXPORT __attribute__((visibility("default")))
#endif

extern "C" TORCH_SHIM_EXPORT const TorchApi* tritonts_torch_api(void) {
  static const TorchApi api = [] {
    TorchApi made{};
    made.interface = FAKE_TORCH_INTERFACE;
    made.version = "2.7.1";
    made.prepare = [](void (*)(void*), const char** loaded) -> TorchFault* {
      *loaded = "2.8.0+cpu";
      return nullptr;
    };
    return made;
  }();
  return &api;
}
