// The CUDA driver: which GPUs it reports, and why there are none.
#include "../device/cuda.h"

#include <cstdio>

#include "../platform/dynamic_library.h"
#include "check.h"
#include "fakes/fakes.h"

namespace tritonts::test {

namespace {

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(cuda_names_a_driver_that_is_not_there) {
  const auto devices = device::AskCudaDriver("libnosuchdriver.so.1");
  CHECK(devices.names.empty());
  CHECK(Contains(devices.reason, "libnosuchdriver.so.1 can't be opened"));
}

TEST(cuda_refuses_a_library_that_is_no_driver) {
  const std::string other =
      platform::DynamicLibrary::PathOf(reinterpret_cast<const void*>(&std::fopen));
  const auto devices = device::AskCudaDriver(other);
  CHECK(devices.names.empty());
  CHECK(Contains(devices.reason, other + " is a library, but not the CUDA driver"));
}

TEST(cuda_lists_the_gpus_by_id) {
  const auto devices = device::AskCudaDriver(FakeCudaDriver());
  CHECK_EQ(devices.names.size(), 2u);
  CHECK_EQ(devices.names[0], "Fake GPU 0");
  CHECK_EQ(devices.names[1], "Fake GPU 1");
  CHECK_EQ(devices.reason, "");
}

TEST(cuda_tells_the_code_and_the_words_of_a_driver_that_fails) {
  const ScopedVariable failing("TRITONTS_FAKE_CUDA", "100");
  const auto known = device::AskCudaDriver(FakeCudaDriver());
  CHECK(known.names.empty());
  CHECK(Contains(known.reason, "cuInit failed with 100 (no CUDA-capable device is detected)"));
  const ScopedVariable otherwise("TRITONTS_FAKE_CUDA", "803");
  CHECK(Contains(device::AskCudaDriver(FakeCudaDriver()).reason, "cuInit failed with 803"));
}

TEST(cuda_tells_of_gpus_that_are_hidden) {
  const ScopedVariable none("TRITONTS_FAKE_GPUS", "0");
  const auto devices = device::AskCudaDriver(FakeCudaDriver());
  CHECK(devices.names.empty());
  CHECK(Contains(devices.reason, "CUDA_VISIBLE_DEVICES"));
}

TEST(cuda_asks_the_driver_once) {
  const auto& first = device::FindCudaDevices();
  const ScopedVariable none("TRITONTS_FAKE_GPUS", "0");
  CHECK(&device::FindCudaDevices() == &first);
  CHECK_EQ(first.names.size(), 2u);
}

}  // namespace tritonts::test
