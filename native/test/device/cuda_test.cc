// The CUDA driver: the GPUs that it reports, and the reasons when there are none.
#include "device/cuda.h"

#include <cstdio>

#include "check.h"
#include "fakes/fakes.h"
#include "platform/dynamic_library.h"

namespace tritonts::test {

TEST(cuda_names_a_driver_that_is_not_there) {
  const auto found = device::AskCudaDriver("libnosuchdriver.so.1");
  CHECK(found.devices.empty());
  CHECK(found.driver == nullptr);
  CHECK(Contains(found.reason, "libnosuchdriver.so.1 can't be opened"));
}

TEST(cuda_refuses_a_library_that_is_no_driver) {
  const std::string other =
      platform::DynamicLibrary::PathOf(reinterpret_cast<const void*>(&std::fopen));
  const auto found = device::AskCudaDriver(other);
  CHECK(found.devices.empty());
  CHECK(Contains(found.reason, other + " is a library, but not the CUDA driver"));
  CHECK(Contains(found.reason, "it has no cuInit"));
}

TEST(cuda_lists_the_gpus_by_id) {
  const ScopedVariable capabilities("TRITONTS_FAKE_CAPABILITIES", "9.0,12.1");
  const auto found = device::AskCudaDriver(FakeCudaDriver());
  CHECK_EQ(found.reason, "");
  CHECK(found.driver != nullptr);
  CHECK_EQ(found.driver->path(), FakeCudaDriver());
  CHECK_EQ(found.driver->version(), 13000);
  CHECK_EQ(found.devices.size(), 2u);
  for (size_t id = 0; id < 2; id++) {
    const device::CudaDevice& device = found.devices[id];
    CHECK_EQ(device.fault, "");
    CHECK_EQ(device.name, "Fake GPU " + std::to_string(id));
    CHECK_EQ(device.memory_bytes, (uint64_t{8} << 30) * (id + 1));
  }
  CHECK_EQ(found.devices[0].uuid, "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0");
  CHECK_EQ(found.devices[1].uuid, "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
  CHECK_EQ(found.devices[0].major * 10 + found.devices[0].minor, 90);
  CHECK_EQ(found.devices[1].major * 10 + found.devices[1].minor, 121);
}

// The fake ends the process if any function is called after that.
TEST(cuda_calls_nothing_of_a_driver_whose_start_failed) {
  const ScopedVariable failing("TRITONTS_FAKE_CUDA", "100");
  const auto known = device::AskCudaDriver(FakeCudaDriver());
  CHECK(known.devices.empty());
  CHECK(known.driver == nullptr);
  CHECK(Contains(known.reason,
                 "cuInit failed with CUDA_ERROR_NO_DEVICE (100: no CUDA-capable device is "
                 "detected)"));
}

TEST(cuda_tells_the_code_of_an_error_that_the_driver_has_no_words_for) {
  const ScopedVariable failing("TRITONTS_FAKE_CUDA", "803");
  const std::string reason = device::AskCudaDriver(FakeCudaDriver()).reason;
  CHECK(reason.ends_with("cuInit failed with 803"));
}

TEST(cuda_tells_of_gpus_that_are_hidden) {
  const ScopedVariable none("TRITONTS_FAKE_GPUS", "0");
  const auto found = device::AskCudaDriver(FakeCudaDriver());
  CHECK(found.devices.empty());
  CHECK(Contains(found.reason, "CUDA_VISIBLE_DEVICES"));
}

TEST(cuda_keeps_the_id_of_a_gpu_that_is_lost_and_uses_the_others) {
  const ScopedVariable lost("TRITONTS_FAKE_CUDA_LOST", "0");
  const auto found = device::AskCudaDriver(FakeCudaDriver());
  CHECK_EQ(found.devices.size(), 2u);
  CHECK_EQ(found.devices[0].fault, "cuDeviceGetName failed with 79");
  CHECK_EQ(found.devices[1].fault, "");
  CHECK_EQ(found.devices[1].name, "Fake GPU 1");
}

TEST(cuda_asks_the_driver_once) {
  const auto& first = device::FindCudaDevices();
  CHECK(device::KnownCudaDevices() == &first);
  const ScopedVariable none("TRITONTS_FAKE_GPUS", "0");
  CHECK(&device::FindCudaDevices() == &first);
  CHECK_EQ(first.devices.size(), 2u);
}

}  // namespace tritonts::test
