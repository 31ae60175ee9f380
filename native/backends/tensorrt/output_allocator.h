// Allocates memory for an output whose size TensorRT determines only during the computation.
#pragma once

#include <cstdint>
#include <vector>

#include "../../device/gpu.h"
#include "objects.h"
#include "table.h"

namespace tritonts::tensorrt {

// TensorRT calls it on the enqueuing thread, before enqueueV3 returns.
class OutputAllocator : public NamedObject {
 public:
  OutputAllocator() : NamedObject("IOutputAllocator") {}

  // Sets the memory for the next batch; it must not be in use.
  void Begin(device::DeviceMemory* memory) {
    memory_ = memory;
    status_ = Status::Ok();
    shape_.clear();
    told_ = false;
  }
  // Results of the enqueued batch: the allocation's status, whether the shape is known, the shape.
  const Status& status() const { return status_; }
  bool told() const { return told_; }
  const std::vector<int64_t>& shape() const { return shape_; }

  // In TensorRT's order.
  virtual void* Reallocate(const char* name, void* current, uint64_t size,
                           uint64_t alignment) noexcept;
  virtual void* ReallocateAsync(const char* name, void* current, uint64_t size, uint64_t alignment,
                                device::cuda::Stream stream) noexcept;
  virtual void TellShape(const char* name, const Dims& dims) noexcept;

 private:
  device::DeviceMemory* memory_ = nullptr;
  Status status_;
  bool told_ = false;
  std::vector<int64_t> shape_;
};

}  // namespace tritonts::tensorrt
