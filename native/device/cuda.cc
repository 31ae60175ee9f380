#include "cuda.h"

#include <atomic>
#include <utility>

namespace tritonts::device {

namespace {

CudaDevices None(std::string reason) {
  return {{}, std::move(reason), nullptr};
}

std::string TextOf(const cuda::Uuid& uuid) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (int i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid.bytes[i] >> 4];
    text += kDigits[uuid.bytes[i] & 15];
  }
  return text;
}

// Reads the driver's facts about a device. An error means that the device is unusable.
Status Read(const Driver& driver, int id, CudaDevice* told) {
  const cuda::Functions& call = driver.call();
  cuda::Device device = 0;
  Status status = driver.Check(call.DeviceGet(&device, id), "cuDeviceGet");
  if (!status.ok()) return status;
  char name[256] = "";
  status = driver.Check(call.DeviceGetName(name, sizeof(name), device), "cuDeviceGetName");
  if (!status.ok()) return status;
  name[sizeof(name) - 1] = '\0';
  told->name = name;
  cuda::Uuid uuid{};
  status = driver.Check(call.DeviceGetUuid(&uuid, device), "cuDeviceGetUuid");
  if (!status.ok()) return status;
  told->uuid = TextOf(uuid);
  size_t bytes = 0;
  status = driver.Check(call.DeviceTotalMem(&bytes, device), "cuDeviceTotalMem");
  if (!status.ok()) return status;
  told->memory_bytes = bytes;
  for (const auto& [attribute, value] : {std::pair{cuda::kComputeCapabilityMajor, &told->major},
                                         std::pair{cuda::kComputeCapabilityMinor, &told->minor}}) {
    status =
        driver.Check(call.DeviceGetAttribute(value, attribute, device), "cuDeviceGetAttribute");
    if (!status.ok()) return status;
  }
  return status;
}

// Set once the system's driver was asked; never destroyed, because the driver is never closed.
std::atomic<const CudaDevices*>& Known() {
  static std::atomic<const CudaDevices*> known{nullptr};
  return known;
}

}  // namespace

CudaDevices AskCudaDriver(const std::string& file) {
  auto opened = Driver::Open(file);
  if (!opened.ok()) return None(opened.status().message());
  const Driver& driver = *opened.value();
  int count = 0;
  const Status status = driver.Check(driver.call().DeviceGetCount(&count), "cuDeviceGetCount");
  if (!status.ok()) {
    return None("the CUDA driver " + file + " can't count the GPUs: " + status.message());
  }
  if (count <= 0) {
    return None("the CUDA driver " + file +
                " offers no GPU (CUDA_VISIBLE_DEVICES may hide what is there)");
  }
  CudaDevices found;
  found.driver = opened.value();
  for (int id = 0; id < count; id++) {
    CudaDevice device;
    // A broken device keeps its id; the others are used.
    device.fault = Read(driver, id, &device).message();
    found.devices.push_back(std::move(device));
  }
  return found;
}

const CudaDevices& FindCudaDevices() {
  static const auto* const devices = [] {
    auto* found = new CudaDevices(AskCudaDriver(Driver::kFile));
    Known().store(found, std::memory_order_release);
    return found;
  }();
  return *devices;
}

const CudaDevices* KnownCudaDevices() {
  return Known().load(std::memory_order_acquire);
}

}  // namespace tritonts::device
