// A fake CUDA driver with fake GPUs, for tests on machines without GPUs.
//
//   TRITONTS_FAKE_GPUS           number of GPUs; default 2
//   TRITONTS_FAKE_CUDA           result of cuInit; default 0, success
//   TRITONTS_FAKE_CUDA_LOST      id of a GPU that has fallen off the bus
//   TRITONTS_FAKE_CAPABILITIES   such as "9.0,5.2", by id; default 9.0
//   TRITONTS_FAKE_MEMORY_POOLS   0: the GPUs have no stream-ordered memory
//   TRITONTS_FAKE_OFF_MAIN       1: a call on the process' main thread aborts
//
// Like the real driver, it may crash if a function is called before cuInit has succeeded.
#include "cuda_driver.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace tritonts::fakes;

constexpr int kNoDevice = 100;
constexpr int kLost = 79;          // an error number without a name
constexpr int kFirstHandle = 100;  // handles differ from the ids
constexpr size_t kGiB = size_t{1} << 30;

std::atomic<bool> initialized{false};

}  // namespace

namespace tritonts::fakes {

int Number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

void Abort(const char* function, const char* why) {
  std::fprintf(stderr, "fake CUDA driver: %s was called %s\n", function, why);
  std::abort();
}

void Enter(const char* function, bool first) {
  if (Number("TRITONTS_FAKE_OFF_MAIN", 0) != 0 && getpid() == syscall(SYS_gettid))
    Abort(function, "on the main thread");
  if (!first && !initialized) Abort(function, "before cuInit succeeded");
}

int IdOf(int handle) {
  const int id = handle - kFirstHandle;
  return id >= 0 && id < Number("TRITONTS_FAKE_GPUS", 2) ? id : -1;
}

bool Initialized() {
  return initialized;
}

}  // namespace tritonts::fakes

namespace {

// The common checks of functions that query a device.
int Ask(const char* function, int handle) {
  Enter(function);
  const int id = IdOf(handle);
  if (id < 0) return kInvalidDevice;
  return id == Number("TRITONTS_FAKE_CUDA_LOST", -1) ? kLost : 0;
}

// Parses the compute capability of a device.
void CapabilityOf(int id, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  const char* text = std::getenv("TRITONTS_FAKE_CAPABILITIES");
  for (int i = 0; text && i < id; i++) {
    text = std::strchr(text, ',');
    if (text) text++;
  }
  if (text && std::sscanf(text, "%d.%d", major, minor) != 2) std::abort();
}

}  // namespace

EXPORTED int cuInit(unsigned flags) {
  Enter("cuInit", true);
  if (flags != 0) return kInvalidValue;
  const int result = Number("TRITONTS_FAKE_CUDA", 0);
  initialized = result == 0;
  return result;
}

EXPORTED int cuDriverGetVersion(int* version) {
  Enter("cuDriverGetVersion");
  *version = 13000;
  return 0;
}

EXPORTED int cuDeviceGetCount(int* count) {
  Enter("cuDeviceGetCount");
  *count = Number("TRITONTS_FAKE_GPUS", 2);
  return 0;
}

EXPORTED int cuDeviceGet(int* device, int id) {
  Enter("cuDeviceGet");
  if (IdOf(id + kFirstHandle) < 0) return kInvalidDevice;
  *device = id + kFirstHandle;
  return 0;
}

EXPORTED int cuDeviceGetName(char* name, int size, int device) {
  if (const int result = Ask("cuDeviceGetName", device)) return result;
  std::snprintf(name, static_cast<size_t>(size), "Fake GPU %d", IdOf(device));
  return 0;
}

EXPORTED int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  if (const int result = Ask("cuDeviceGetUuid_v2", device)) return result;
  for (int i = 0; i < 16; i++) uuid[i] = static_cast<unsigned char>(16 * i + IdOf(device));
  return 0;
}

EXPORTED int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (const int result = Ask("cuDeviceGetAttribute", device)) return result;
  int major = 0;
  int minor = 0;
  CapabilityOf(IdOf(device), &major, &minor);
  switch (attribute) {
    case 75:
      *value = major;
      return 0;
    case 76:
      *value = minor;
      return 0;
    case 115:
      *value = Number("TRITONTS_FAKE_MEMORY_POOLS", 1);
      return 0;
    default:
      return kInvalidValue;
  }
}

EXPORTED int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  if (const int result = Ask("cuDeviceTotalMem_v2", device)) return result;
  *bytes = kGiB * static_cast<size_t>(8 * (IdOf(device) + 1));
  return 0;
}

namespace {

struct Error {
  int result;
  const char* name;
  const char* text;
};
constexpr Error kErrors[] = {
    {kNoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

}  // namespace

EXPORTED int cuGetErrorName(int result, const char** name) {
  for (const Error& error : kErrors) {
    if (error.result != result) continue;
    *name = error.name;
    return 0;
  }
  return kInvalidValue;
}

EXPORTED int cuGetErrorString(int result, const char** text) {
  for (const Error& error : kErrors) {
    if (error.result != result) continue;
    *text = error.text;
    return 0;
  }
  return kInvalidValue;
}
