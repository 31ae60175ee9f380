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

// A plan, and how it may be read.
struct PlanSource {
  const std::string& file;
  std::string_view bytes;
  // Whether it may be version-compatible, and bring code that is run in this process.
  bool host_code = false;
  // The lean runtime that reads it if it is version-compatible and brings no code; "": none.
  std::string lean_runtime;
};

class Engine {
 public:
  // Reads a plan. INVALID_ARG: it is none, or one of another version or GPU, in the library's
  // words. UNAVAILABLE: the lean runtime can't be loaded. UNSUPPORTED: it has tensors that can't be
  // passed.
  static StatusOr<std::shared_ptr<const Engine>> Read(const Library* library,
                                                      std::shared_ptr<device::Gpu> gpu,
                                                      const PlanSource& source);
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
  Status Deserialize(const PlanSource& source);
  // Reads a plan that TensorRT itself did not, as `refused` says.
  Status DeserializeByLean(const PlanSource& source, const Status& refused);
  Status ReadTensors();
  StatusOr<PlanTensor> ReadTensor(const char* name) const;
  void ReadProfiles(PlanTensor* tensor) const;
  std::vector<int64_t> ValuesOf(const PlanTensor& tensor, int32_t profile, int32_t bound) const;

  const Library* const library_;
  const std::shared_ptr<device::Gpu> gpu_;
  const std::string file_;
  Object* runtime_ = nullptr;
  Object* lean_ = nullptr;  // a runtime that runtime_ has loaded, and must outlive; mostly null
  Object* engine_ = nullptr;
  int32_t profiles_ = 1;
  std::vector<PlanTensor> tensors_;
};

}  // namespace tritonts::tensorrt
