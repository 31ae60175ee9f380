#include "gpus.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "../device/cuda.h"
#include "../device/gpu.h"
#include "../device/gpu_watch.h"
#include "guard.h"

namespace tritonts {

namespace {

Napi::Value NumberFrom(Napi::Env env, uint64_t value) {
  return Napi::Number::New(env, static_cast<double>(value));
}

Napi::Value ToJs(Napi::Env env, const device::CudaDevice& device) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("name", device.name);
  object.Set("uuid", device.uuid);
  object.Set("memoryBytes", NumberFrom(env, device.memory_bytes));
  object.Set("major", Napi::Number::New(env, device.major));
  object.Set("minor", Napi::Number::New(env, device.minor));
  object.Set("fault", device.fault);
  return object;
}

// Returns what the driver reported; undefined if it was not asked yet or has not answered yet.
Napi::Value Gpus(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const device::CudaDevices* found = device::KnownCudaDevices();
  if (!found) return env.Undefined();
  Napi::Array devices = Napi::Array::New(env, found->devices.size());
  for (uint32_t i = 0; i < found->devices.size(); i++) devices.Set(i, ToJs(env, found->devices[i]));
  Napi::Object object = Napi::Object::New(env);
  object.Set("devices", devices);
  object.Set("reason", found->reason);
  object.Set("driver", found->driver ? found->driver->path() : "");
  object.Set("cudaVersion", Napi::Number::New(env, found->driver ? found->driver->version() : 0));
  return object;
}

// Returns the lost GPUs, which accept no more work.
Napi::Value LostGpus(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::vector<device::Gpu::Lost> lost = device::Gpu::AllLost();
  Napi::Array array = Napi::Array::New(env, lost.size());
  for (uint32_t i = 0; i < lost.size(); i++) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("id", Napi::Number::New(env, lost[i].id));
    object.Set("reason", lost[i].reason);
    array.Set(i, object);
  }
  return array;
}

// Sets the limits of the pools: of pinned memory, of each GPU, and of the GPUs listed as pairs of
// id and bytes.
Napi::Value LimitGpuMemory(const Napi::CallbackInfo& info) {
  const auto bytes = [](const Napi::Value& value) {
    return static_cast<size_t>(value.As<Napi::Number>().Int64Value());
  };
  device::Gpu::LimitPinned(bytes(info[0]));
  for (int id = 0; id < device::Gpu::kLimits; id++) device::Gpu::LimitDevice(id, bytes(info[1]));
  const auto listed = info[2].As<Napi::Array>();
  for (uint32_t i = 0; i < listed.Length(); i++) {
    const auto pair = listed.Get(i).As<Napi::Array>();
    device::Gpu::LimitDevice(pair.Get(0u).As<Napi::Number>().Int32Value(), bytes(pair.Get(1u)));
  }
  return info.Env().Undefined();
}

// Returns the usage of the pools: "pinned", and "devices" by id.
Napi::Value GpuPools(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto told = [&](const device::Gpu::PoolCounts& counts) {
    Napi::Object object = Napi::Object::New(env);
    object.Set("limitBytes", NumberFrom(env, counts.limit_bytes));
    object.Set("usedBytes", NumberFrom(env, counts.used_bytes));
    object.Set("plainBlocks", NumberFrom(env, counts.plain_blocks));
    return object;
  };
  const device::CudaDevices* const found = device::KnownCudaDevices();
  const size_t count = found ? found->devices.size() : 0;
  Napi::Array devices = Napi::Array::New(env, count);
  for (uint32_t i = 0; i < count; i++)
    devices.Set(i, told(device::Gpu::DeviceCounts(static_cast<int>(i))));
  Napi::Object object = Napi::Object::New(env);
  object.Set("pinned", told(device::Gpu::PinnedCounts()));
  object.Set("devices", devices);
  return object;
}

// Returns the latest samples of the process' watch, by id.
Napi::Value GpuSamples(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::vector<device::GpuSample> samples = device::GpuWatch::Latest();
  Napi::Array array = Napi::Array::New(env, samples.size());
  for (uint32_t i = 0; i < samples.size(); i++) {
    Napi::Object object = Napi::Object::New(env);
    const auto set = [&](const char* name, const auto& value) {
      if (value) object.Set(name, Napi::Number::New(env, static_cast<double>(*value)));
    };
    set("utilization", samples[i].utilization);
    set("memoryTotalBytes", samples[i].memory_total_bytes);
    set("memoryUsedBytes", samples[i].memory_used_bytes);
    set("powerWatts", samples[i].power_watts);
    set("powerLimitWatts", samples[i].power_limit_watts);
    set("energyJoules", samples[i].energy_joules);
    array.Set(i, object);
  }
  return array;
}

}  // namespace

FoundNvml LookForNvml() {
  auto nvml = device::Nvml::Open(device::Nvml::kFile);
  if (!nvml.ok()) return {"", "", "", nvml.status().message()};
  return {nvml.value()->path(), nvml.value()->version(), nvml.value()->driver_version(), ""};
}

Napi::Value ToJs(Napi::Env env, const FoundNvml& found) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("path", found.path);
  object.Set("version", found.version);
  object.Set("driverVersion", found.driver_version);
  object.Set("reason", found.reason);
  return object;
}

void ExportGpus(Napi::Env env, Napi::Object exports) {
  Export<Gpus>(env, exports, "gpus");
  Export<LostGpus>(env, exports, "lostGpus");
  Export<LimitGpuMemory>(env, exports, "limitGpuMemory");
  Export<GpuPools>(env, exports, "gpuPools");
  Export<GpuSamples>(env, exports, "gpuSamples");
}

}  // namespace tritonts
