// What the parts of the program for GPUs share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/cuda.h"
#include "device/gpu.h"

namespace tritonts::test {

// Ends the program with the words, if the status is not ok.
void Expect(const Status& status);
void Expect(bool holds, const std::string& what);
// The driver's function of this symbol, which the server has no use for.
void* DriverSymbol(const char* symbol);
void ExpectDriver(const device::Gpu& gpu, int result, const char* function);

// A kernel of PTX text: to[i] = from[i] + 1, of floats.
class AddOne {
 public:
  // Needs the context current, as Launch does.
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

// Whether memory, streams, events, graphs and the kernel do what they should.
void CheckGpu(const std::shared_ptr<device::Gpu>& gpu);
// Prints a table of the bandwidth of copies.
void PrintBandwidths(const std::shared_ptr<device::Gpu>& gpu);

// Rows of floats that are to go through the kernel, many at once.
struct Load {
  uint32_t outstanding = 64;  // rows
  uint32_t most = 64;         // rows of a batch
  uint32_t lanes = 2;         // batches under way
  size_t floats = 256;        // of a row
};
struct Measured {
  double rows_a_second = 0;
  double batches_a_second = 0;
};
// Does the same with calls of the driver alone, by one thread.
Measured RunBare(const std::shared_ptr<device::Gpu>& gpu, const Load& load, double seconds);
// Through the engine: a version with one instance, asked for as many rows at once.
Measured RunEngine(const std::shared_ptr<device::Gpu>& gpu, const Load& load, double seconds);

}  // namespace tritonts::test
