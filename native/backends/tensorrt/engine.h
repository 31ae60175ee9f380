// A plan on one GPU: TensorRT's engine, which the instances there share. It is made and destroyed
// on threads that may wait; its functions may be called by any.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../../device/gpu.h"
#include "engine/backend.h"
#include "library.h"

namespace tritonts::tensorrt {

// A tensor of a plan.
struct PlanTensor {
  std::string name;
  bool is_input = false;
  DataType datatype = DataType::kInvalid;
  std::string type_name;
  std::vector<int64_t> dims;  // -1: dynamic
  // Of an input: what the first profile takes.
  std::vector<int64_t> least;
  std::vector<int64_t> most;
};

class Engine {
 public:
  // Reads a plan. INVALID_ARG: it is none, or one of another version or GPU, in the library's
  // words. UNSUPPORTED: it has tensors that can't be passed.
  static StatusOr<std::shared_ptr<const Engine>> Read(const Library* library,
                                                      std::shared_ptr<device::Gpu> gpu,
                                                      std::string_view plan);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Table& table() const { return library_->table(); }
  const std::shared_ptr<device::Gpu>& gpu() const { return gpu_; }
  const std::vector<PlanTensor>& tensors() const { return tensors_; }
  const PlanTensor* Find(const std::string& name, bool is_input) const;
  // Makes an execution context, which its owner deletes before the engine ends. Needs the GPU's
  // context current.
  StatusOr<Object*> MakeContext() const;

 private:
  Engine(const Library* library, std::shared_ptr<device::Gpu> gpu)
      : library_(library), gpu_(std::move(gpu)) {}
  Status ReadTensors();

  const Library* const library_;
  const std::shared_ptr<device::Gpu> gpu_;
  Object* runtime_ = nullptr;
  Object* engine_ = nullptr;
  std::vector<PlanTensor> tensors_;
};

}  // namespace tritonts::tensorrt
