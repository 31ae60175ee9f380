// Sampling of GPUs: the management library, and the thread that queries it.
#include "device/gpu_watch.h"

#include <cstdio>

#include "check.h"
#include "device/cuda.h"
#include "fakes/fakes.h"
#include "platform/dynamic_library.h"

namespace tritonts::test {

namespace {

using std::chrono::milliseconds;

std::vector<std::string> Uuids() {
  std::vector<std::string> uuids;
  for (const auto& device : device::AskCudaDriver(FakeCudaDriver()).devices)
    uuids.push_back(device.uuid);
  return uuids;
}

}  // namespace

TEST(nvml_tells_its_version_and_that_of_the_driver) {
  auto nvml = device::Nvml::Open(FakeNvml());
  CHECK(nvml.ok());
  CHECK_EQ(nvml.value()->version(), "13.580.65");
  CHECK_EQ(nvml.value()->driver_version(), "580.65.06");
  CHECK_EQ(nvml.value()->path(), FakeNvml());
}

TEST(nvml_says_why_it_cannot_be_used) {
  const auto absent = device::Nvml::Open("libnosuchnvml.so.1");
  CHECK_EQ(absent.status().code(), Code::kUnavailable);
  CHECK(absent.status().message().starts_with("libnosuchnvml.so.1 can't be opened"));
  const std::string other =
      platform::DynamicLibrary::PathOf(reinterpret_cast<const void*>(&std::fopen));
  CHECK_EQ(device::Nvml::Open(other).status().message(), other + " has no nvmlInit_v2");
  const ScopedVariable failing("TRITONTS_FAKE_NVML", "9");
  CHECK_EQ(device::Nvml::Open(FakeNvml()).status().message(),
           FakeNvml() + ": nvmlInit failed with 9 (Driver Not Loaded)");
}

TEST(nvml_knows_gpus_by_the_uuid_that_the_driver_tells) {
  auto nvml = device::Nvml::Open(FakeNvml());
  for (const std::string& uuid : Uuids()) CHECK(nvml.value()->Find(uuid).ok());
  CHECK_EQ(nvml.value()->Find("GPU-0").status().message(),
           "nvmlDeviceGetHandleByUUID failed with 6 (Unknown Error)");
}

TEST(gpu_watch_sees_each_gpu_and_counts_energy_from_its_beginning) {
  const device::GpuWatch watch(Uuids(), FakeNvml(), milliseconds(1));
  watch.AwaitLooks(3);
  const auto samples = watch.samples();
  CHECK_EQ(watch.fault(), "");
  CHECK_EQ(samples.size(), 2u);
  for (size_t id = 0; id < samples.size(); id++) {
    const double number = static_cast<double>(id + 1);
    CHECK_EQ(samples[id].utilization.value_or(-1), 0.25 * number);
    CHECK_EQ(samples[id].memory_total_bytes.value_or(0), (uint64_t{8} << 30) * (id + 1));
    CHECK_EQ(samples[id].memory_used_bytes.value_or(0), uint64_t{1} << 30);
    CHECK_EQ(samples[id].power_watts.value_or(-1), 61.5);
    CHECK_EQ(samples[id].power_limit_watts.value_or(-1), 300.0);
    // Each look after the first consumed 3 J.
    const double joules = samples[id].energy_joules.value_or(-1);
    CHECK(joules >= 6);
    CHECK_EQ(joules / 3, static_cast<double>(static_cast<int>(joules / 3)));
  }
}

TEST(gpu_watch_takes_what_a_part_of_a_gpu_tells) {
  const ScopedVariable quiet("TRITONTS_FAKE_NVML_QUIET", "1");
  const device::GpuWatch watch(Uuids(), FakeNvml(), milliseconds(1));
  watch.AwaitLooks(1);
  const auto samples = watch.samples();
  CHECK(samples[0].utilization.has_value());
  CHECK(!samples[1].utilization.has_value());
  CHECK(!samples[1].power_watts.has_value());
  CHECK(!samples[1].energy_joules.has_value());
  CHECK_EQ(samples[1].memory_used_bytes.value_or(0), uint64_t{1} << 30);
}

TEST(gpu_watch_says_why_it_sees_nothing) {
  const device::GpuWatch watch(Uuids(), "libnosuchnvml.so.1", milliseconds(1));
  watch.AwaitLooks(1);
  CHECK(watch.fault().starts_with("libnosuchnvml.so.1 can't be opened"));
  CHECK(watch.samples().empty());
}

TEST(gpu_watch_without_memory_ends_with_a_fault) {
  const ScopedVariable throws("TRITONTS_FAKE_NVML_THROWS", "nvmlInit_v2");
  const device::GpuWatch watch(Uuids(), FakeNvml(), milliseconds(1));
  watch.AwaitLooks(1);
  CHECK_EQ(watch.fault(), "no memory");
  CHECK(watch.samples().empty());
}

TEST(gpu_watch_without_memory_for_samples_looks_again) {
  const ScopedVariable throws("TRITONTS_FAKE_NVML_THROWS", "nvmlDeviceGetMemoryInfo");
  const device::GpuWatch watch(Uuids(), FakeNvml(), milliseconds(1));
  watch.AwaitLooks(3);
  CHECK_EQ(watch.fault(), "");
  CHECK(watch.samples().empty());
}

TEST(gpu_watch_is_shared_while_somebody_has_it) {
  device::FindCudaDevices();
  CHECK(device::GpuWatch::Latest().empty());
  {
    const auto first = device::GpuWatch::Share(milliseconds(1));
    CHECK(first != nullptr);
    CHECK(device::GpuWatch::Share(milliseconds(1000)) == first);
    first->AwaitLooks(1);
    CHECK_EQ(device::GpuWatch::Latest().size(), 2u);
  }
  CHECK(device::GpuWatch::Latest().empty());
}

}  // namespace tritonts::test
