// Shared by the files of the GPU program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cuda.h"
#include "device/gpu.h"

namespace tritonts::test {

// Ends the program with an error message if the status is not ok.
void Expect(const Status& status);
void Expect(bool holds, const std::string& what);
// A function of the driver that the server does not use.
void* DriverSymbol(const char* symbol);
void ExpectDriver(const device::Gpu& gpu, int result, const char* function);

// A kernel in PTX: to[i] = from[i] + 1, for floats.
class AddOne {
 public:
  // The context must be current, also for Launch.
  explicit AddOne(const device::Gpu& gpu);
  ~AddOne();
  AddOne(const AddOne&) = delete;
  AddOne& operator=(const AddOne&) = delete;
  Status Launch(device::cuda::Stream stream, device::cuda::Address to, device::cuda::Address from,
                size_t count) const;

 private:
  const device::Gpu& gpu_;
  void* module_ = nullptr;
  void* function_ = nullptr;
};

// Checks memory, streams, events, graphs and the kernel.
void CheckGpu(const std::shared_ptr<device::Gpu>& gpu);
// Checks that another process can open memory.
void CheckSharing(const std::shared_ptr<device::Gpu>& gpu);
// That process: opens the memory of a handle, in hexadecimal digits, reads it and writes to it.
int OpenShared(int device, const std::string& hex);
// Prints a table of the bandwidth of copies.
void PrintBandwidths(const std::shared_ptr<device::Gpu>& gpu);

// A load of rows of floats for the kernel, many at once.
struct Load {
  uint32_t outstanding = 64;  // rows per batch
  uint32_t most = 64;         // rows of a batch
  uint32_t lanes = 2;         // batches under way
  size_t floats = 256;        // per row
};
struct Measured {
  double rows_a_second = 0;
  double batches_a_second = 0;
};
// Runs the load with calls of the driver alone, on one thread.
Measured RunBare(const std::shared_ptr<device::Gpu>& gpu, const Load& load, double seconds);
// Runs the load through the engine: a version with one instance and as many outstanding rows.
Measured RunEngine(const std::shared_ptr<device::Gpu>& gpu, const Load& load, double seconds);

}  // namespace tritonts::test
