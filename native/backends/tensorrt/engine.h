// A plan on one GPU: TensorRT's engine, which the GPU's instances share. Create and destroy it on
// threads that may block. Its functions are thread-safe.
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

// A plan, and how to read it.
struct PlanSource {
  const std::string& file;
  std::string_view bytes;
  // Whether the plan may be version-compatible and contain code that runs in this process.
  bool host_code = false;
  // The lean runtime for version-compatible plans without code; "": none.
  std::string lean_runtime;
};

class Engine {
 public:
  // Reads a plan. INVALID_ARG, with the library's text: the file is not a plan, or a plan for
  // another version or GPU. UNAVAILABLE: the lean runtime cannot be loaded. UNSUPPORTED: the server
  // cannot handle some of the plan's tensors.
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
  // The bytes of device memory that a context needs with a profile.
  size_t MemoryOf(int32_t profile) const;
  // Creates an execution context without device memory. The caller deletes it before the engine is
  // destroyed. The GPU's context must be current.
  StatusOr<Object*> MakeContext() const;

 private:
  Engine(const Library* library, std::shared_ptr<device::Gpu> gpu, std::string file)
      : library_(library), gpu_(std::move(gpu)), file_(std::move(file)) {}
  Status Deserialize(const PlanSource& source);
  // Reads a plan with the lean runtime, after TensorRT itself has failed with `refused`.
  Status DeserializeByLean(const PlanSource& source, const Status& refused);
  Status ReadTensors();
  StatusOr<PlanTensor> ReadTensor(const char* name) const;
  void ReadProfiles(PlanTensor* tensor) const;
  std::vector<int64_t> ValuesOf(const PlanTensor& tensor, int32_t profile, int32_t bound) const;

  const Library* const library_;
  const std::shared_ptr<device::Gpu> gpu_;
  const std::string file_;
  Object* runtime_ = nullptr;
  Object* lean_ = nullptr;  // a runtime that runtime_ loaded and must outlive; usually null
  Object* engine_ = nullptr;
  int32_t profiles_ = 1;
  std::vector<PlanTensor> tensors_;
};

}  // namespace tritonts::tensorrt
