#include "nvml.h"

#include <memory>

#include "../platform/dynamic_library.h"
#include "../platform/system.h"
#include "engine/base/exit.h"

namespace tritonts::device {

const char* const Nvml::kFile = platform::kWindows ? "nvml.dll" : "libnvidia-ml.so.1";

struct Nvml::Utilization {
  unsigned gpu;  // in percent
  unsigned memory;
};

struct Nvml::Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

// With the library's names. Powers are in milliwatts, energy is in millijoules.
struct Nvml::Functions {
  int (*init)();
  const char* (*error_string)(int result);
  int (*nvml_version)(char* text, unsigned size);
  int (*driver_version)(char* text, unsigned size);
  int (*find)(const char* uuid, Gpu** gpu);
  int (*utilization)(Gpu* gpu, Utilization* rates);
  int (*memory)(Gpu* gpu, Memory* memory);
  int (*power)(Gpu* gpu, unsigned* milliwatts);
  int (*power_limit)(Gpu* gpu, unsigned* milliwatts);
  int (*energy)(Gpu* gpu, unsigned long long* millijoules);
};

namespace {

std::string TextOf(int (*tell)(char*, unsigned)) {
  char text[96] = "";
  if (tell(text, sizeof(text)) != 0) return "";
  text[sizeof(text) - 1] = '\0';
  return text;
}

}  // namespace

StatusOr<std::shared_ptr<const Nvml>> Nvml::Open(const std::string& file) {
  std::string fault;
  const auto library = platform::DynamicLibrary::Open(file, &fault);
  if (!library) {
    return Status::Unavailable(
        Reason::kMissing,
        file + " can't be opened (" + fault + "): it comes with NVIDIA's driver for the GPU");
  }
  auto functions = std::make_shared<Functions>();
  const char* missing = nullptr;
  const auto take = [&](auto** function, const char* symbol) {
    *function = reinterpret_cast<std::remove_reference_t<decltype(*function)>>(
        library.value().Symbol(symbol));
    if (!*function && !missing) missing = symbol;
  };
  take(&functions->init, "nvmlInit_v2");
  take(&functions->error_string, "nvmlErrorString");
  take(&functions->nvml_version, "nvmlSystemGetNVMLVersion");
  take(&functions->driver_version, "nvmlSystemGetDriverVersion");
  take(&functions->find, "nvmlDeviceGetHandleByUUID");
  take(&functions->utilization, "nvmlDeviceGetUtilizationRates");
  take(&functions->memory, "nvmlDeviceGetMemoryInfo");
  take(&functions->power, "nvmlDeviceGetPowerUsage");
  take(&functions->power_limit, "nvmlDeviceGetEnforcedPowerLimit");
  take(&functions->energy, "nvmlDeviceGetTotalEnergyConsumption");
  if (missing) return Status::Unavailable(Reason::kMissing, file + " has no " + missing);

  std::shared_ptr<Nvml> nvml(new Nvml());
  nvml->path_ = platform::DynamicLibrary::PathOf(reinterpret_cast<const void*>(functions->init));
  nvml->functions_ = std::move(functions);
  OnRuntimeLibraryOpened();
  if (const int result = nvml->functions_->init(); result != 0)
    return Status::Unavailable(Reason::kMissing, file + ": " + nvml->Failure(result, "nvmlInit"));
  nvml->version_ = TextOf(nvml->functions_->nvml_version);
  nvml->driver_version_ = TextOf(nvml->functions_->driver_version);
  return std::shared_ptr<const Nvml>(std::move(nvml));
}

StatusOr<Nvml::Gpu*> Nvml::Find(const std::string& uuid) const {
  Gpu* gpu = nullptr;
  int result = functions_->find(uuid.c_str(), &gpu);
  // For a MIG part, the CUDA driver reports the same form of UUID as for a whole GPU.
  if (result != 0 && uuid.starts_with("GPU-") &&
      functions_->find(("MIG-" + uuid.substr(4)).c_str(), &gpu) == 0) {
    result = 0;
  }
  if (result != 0) return Status::NotFound(Failure(result, "nvmlDeviceGetHandleByUUID"));
  return gpu;
}

GpuSample Nvml::Sample(Gpu* gpu) const {
  GpuSample sample;
  Utilization rates{};
  if (functions_->utilization(gpu, &rates) == 0) sample.utilization = rates.gpu / 100.0;
  Memory memory{};
  if (functions_->memory(gpu, &memory) == 0) {
    sample.memory_total_bytes = memory.total;
    sample.memory_used_bytes = memory.used;
  }
  unsigned milliwatts = 0;
  if (functions_->power(gpu, &milliwatts) == 0) sample.power_watts = milliwatts / 1000.0;
  if (functions_->power_limit(gpu, &milliwatts) == 0)
    sample.power_limit_watts = milliwatts / 1000.0;
  unsigned long long millijoules = 0;
  if (functions_->energy(gpu, &millijoules) == 0)
    sample.energy_joules = static_cast<double>(millijoules) / 1000.0;
  return sample;
}

std::string Nvml::Failure(int result, const char* function) const {
  const char* words = functions_->error_string(result);
  return std::string(function) + " failed with " + std::to_string(result) +
         (words ? " (" + std::string(words) + ")" : "");
}

}  // namespace tritonts::device
