// Shared by the parts of the stress program.
#pragma once

#include <atomic>
#include <random>
#include <string>

#include "engine/backend.h"

namespace tritonts::test {

// The computation of a version from inputs 0 and 1. The first three use the identity backend.
enum class Kind : uint32_t {
  kFixed,     // 16 floats a row, and 2 more
  kVariable,  // rows of any width
  kLarge,     // one tensor of up to a MiB, no batch dimension
  kFault,     // 4 floats a row, and a fault
  kContract,  // 4 floats a row, and a way (contract_backend.h)
  kPlan,      // 4 floats a row, by TensorRT on GPUs
  // These two need ONNX Runtime: twice the 4 floats of each row.
  kOnnx,
  kOnnxOnGpus,
  kCount
};

// Whether versions of a kind are on GPUs.
inline bool IsOnGpus(Kind kind) {
  return kind == Kind::kPlan || kind == Kind::kOnnxOnGpus;
}

// Inputs and outputs of a version.
ModelIo IoOf(Kind kind, uint32_t max_batch_size);

// A version that environments can call.
struct Target {
  uint32_t uid = 0;
  Kind kind = Kind::kFixed;
  uint32_t max_batch_size = 0;
};

// A random generator. Each thread has its own.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // From 0 to `most`.
  uint32_t Up(uint32_t most) { return static_cast<uint32_t>(engine_() % (uint64_t{most} + 1)); }
  bool Once(uint32_t in) { return Up(in - 1) == 0; }
  uint64_t Seed() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// Counts of events so far, over all servers.
struct Counts {
  std::atomic<uint64_t> submitted{0}, ok{0}, cancelled{0}, gone{0}, limited{0}, dropped{0};
  std::atomic<uint64_t> faulty{0}, streamed{0}, by_gpus{0};
  std::atomic<uint64_t> ports{0}, versions{0}, failed_loads{0}, batches{0}, rows{0};
};
extern Counts counts;

// Set by the first failure, which ends the program.
extern std::atomic<bool> failed;

// Reports a failure. Any thread may call it.
void Complain(const std::string& what);

}  // namespace tritonts::test
