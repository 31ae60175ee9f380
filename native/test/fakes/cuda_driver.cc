// A fake CUDA driver with fake GPUs, for tests on machines without one.
//
//   TRITONTS_FAKE_GPUS   how many GPUs there are; default 2
//   TRITONTS_FAKE_CUDA   what cuInit returns; default 0, success
#include <cstdio>
#include <cstdlib>

namespace {

int Number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int cuInit(unsigned) {
  return Number("TRITONTS_FAKE_CUDA", 0);
}

__attribute__((visibility("default"))) int cuDeviceGetCount(int* count) {
  *count = Number("TRITONTS_FAKE_GPUS", 2);
  return 0;
}

// Device handles differ from the ids.
__attribute__((visibility("default"))) int cuDeviceGet(int* device, int id) {
  *device = id + 100;
  return 0;
}

__attribute__((visibility("default"))) int cuDeviceGetName(char* name, int size, int device) {
  std::snprintf(name, static_cast<size_t>(size), "Fake GPU %d", device - 100);
  return 0;
}

__attribute__((visibility("default"))) int cuGetErrorString(int result, const char** text) {
  if (result != 100) return 1;
  *text = "no CUDA-capable device is detected";
  return 0;
}

}  // extern "C"
