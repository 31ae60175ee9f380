// A fake management library for the GPUs of the fake CUDA driver. Each query of the energy consumes
// 3 J.
//
//   TRITONTS_FAKE_NVML        result of nvmlInit_v2; default 0, success
//   TRITONTS_FAKE_NVML_QUIET  id of a GPU that reports only its memory, like a MIG part
//   TRITONTS_FAKE_NVML_THROWS  a function that throws std::bad_alloc, as code around it may
//   TRITONTS_FAKE_OFF_MAIN    1: a call on the process' main thread aborts
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kMostGpus = 16;

struct Gpu {
  std::atomic<unsigned long long> joules{1000};
};

Gpu gpus[kMostGpus];

int Number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

void Enter() {
  if (Number("TRITONTS_FAKE_OFF_MAIN", 0) != 0 && getpid() == syscall(SYS_gettid)) {
    std::fprintf(stderr, "fake NVML: called on the main thread\n");
    std::abort();
  }
}

void MayThrow(const char* function) {
  const char* const throws = std::getenv("TRITONTS_FAKE_NVML_THROWS");
  if (throws && std::strcmp(throws, function) == 0) throw std::bad_alloc();
}

int IdOf(const Gpu* gpu) {
  return static_cast<int>(gpu - gpus);
}

bool IsQuiet(const Gpu* gpu) {
  return IdOf(gpu) == Number("TRITONTS_FAKE_NVML_QUIET", -1);
}

int Tell(const char* told, char* text, unsigned size) {
  Enter();
  std::snprintf(text, size, "%s", told);
  return 0;
}

}  // namespace

EXPORTED int nvmlInit_v2() {
  Enter();
  MayThrow("nvmlInit_v2");
  return Number("TRITONTS_FAKE_NVML", 0);
}

EXPORTED const char* nvmlErrorString(int result) {
  return result == 9 ? "Driver Not Loaded" : "Unknown Error";
}

EXPORTED int nvmlSystemGetNVMLVersion(char* text, unsigned size) {
  return Tell("13.580.65", text, size);
}

EXPORTED int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return Tell("580.65.06", text, size);
}

// The fake driver's UUIDs end in the id; the last byte is 0xf0 + id. A quiet GPU is a MIG part.
EXPORTED int nvmlDeviceGetHandleByUUID(const char* uuid, Gpu** gpu) {
  Enter();
  for (int id = 0; id < kMostGpus; id++) {
    char known[64] = "";
    int at = std::snprintf(known, sizeof(known), "%s-", IsQuiet(&gpus[id]) ? "MIG" : "GPU");
    for (int i = 0; i < 16; i++) {
      const bool dash = i == 4 || i == 6 || i == 8 || i == 10;
      at += std::snprintf(known + at, sizeof(known) - static_cast<size_t>(at),
                          dash ? "-%02x" : "%02x", 16 * i + id);
    }
    if (std::strcmp(uuid, known) != 0) continue;
    *gpu = &gpus[id];
    return 0;
  }
  return kNotFound;
}

EXPORTED int nvmlDeviceGetUtilizationRates(Gpu* gpu, unsigned* rates) {
  Enter();
  if (IsQuiet(gpu)) return kNotSupported;
  rates[0] = static_cast<unsigned>(25 * (IdOf(gpu) + 1));
  rates[1] = 0;
  return 0;
}

EXPORTED int nvmlDeviceGetMemoryInfo(Gpu* gpu, unsigned long long* memory) {
  Enter();
  MayThrow("nvmlDeviceGetMemoryInfo");
  memory[0] = (8ull << 30) * static_cast<unsigned>(IdOf(gpu) + 1);
  memory[2] = 1ull << 30;
  memory[1] = memory[0] - memory[2];
  return 0;
}

EXPORTED int nvmlDeviceGetPowerUsage(Gpu* gpu, unsigned* milliwatts) {
  Enter();
  if (IsQuiet(gpu)) return kNotSupported;
  *milliwatts = 61500;
  return 0;
}

EXPORTED int nvmlDeviceGetEnforcedPowerLimit(Gpu* gpu, unsigned* milliwatts) {
  Enter();
  if (IsQuiet(gpu)) return kNotSupported;
  *milliwatts = 300000;
  return 0;
}

EXPORTED int nvmlDeviceGetTotalEnergyConsumption(Gpu* gpu, unsigned long long* millijoules) {
  Enter();
  if (IsQuiet(gpu)) return kNotSupported;
  *millijoules = 1000 * (gpu->joules += 3);
  return 0;
}
