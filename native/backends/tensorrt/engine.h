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
#include "plan_tensor.h"

namespace tritonts::tensorrt {

class Engine {
 public:
  // Reads the plan of a file. `host_code`: one that is version-compatible, which brings code that
  // is run in this process. INVALID_ARG: it is none, or one of another version or GPU, in the
  // library's words. UNSUPPORTED: it has tensors that can't be passed.
  static StatusOr<std::shared_ptr<const Engine>> Read(const Library* library,
                                                      std::shared_ptr<device::Gpu> gpu,
                                                      const std::string& file,
                                                      std::string_view plan, bool host_code);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Table& table() const { return library_->table(); }
  const std::shared_ptr<device::Gpu>& gpu() const { return gpu_; }
  const std::string& file() const { return file_; }
  const std::vector<PlanTensor>& tensors() const { return tensors_; }
  const PlanTensor* Find(const std::string& name, bool is_input) const;
  int32_t profiles() const { return profiles_; }
  // Bytes of device memory that a context needs with a profile.
  size_t MemoryOf(int32_t profile) const;
  // Makes an execution context without device memory, which its owner deletes before the engine
  // ends. Needs the GPU's context current.
  StatusOr<Object*> MakeContext() const;

 private:
  Engine(const Library* library, std::shared_ptr<device::Gpu> gpu, std::string file)
      : library_(library), gpu_(std::move(gpu)), file_(std::move(file)) {}
  Status ReadTensors();
  StatusOr<PlanTensor> ReadTensor(const char* name) const;
  void ReadProfiles(PlanTensor* tensor) const;
  std::vector<int64_t> ValuesOf(const PlanTensor& tensor, int32_t profile, int32_t bound) const;

  const Library* const library_;
  const std::shared_ptr<device::Gpu> gpu_;
  const std::string file_;
  Object* runtime_ = nullptr;
  Object* engine_ = nullptr;
  int32_t profiles_ = 1;
  std::vector<PlanTensor> tensors_;
};

}  // namespace tritonts::tensorrt
