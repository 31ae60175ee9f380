#include "output_allocator.h"

#include <algorithm>
#include <new>

namespace tritonts::tensorrt {

void* OutputAllocator::Reallocate(const char*, void*, uint64_t size, uint64_t) noexcept {
  // The driver's memory satisfies every alignment that TensorRT requests. Even an empty output
  // needs a valid address.
  try {
    status_ = memory_ ? memory_->Reserve(std::max<uint64_t>(1, size))
                      : Status::Internal("TensorRT requested memory for an output outside a batch");
  } catch (const std::bad_alloc&) {
    status_ = Status::NoMemory();
  }
  return status_.ok() ? reinterpret_cast<void*>(memory_->address()) : nullptr;
}

void* OutputAllocator::ReallocateAsync(const char* name, void* current, uint64_t size,
                                       uint64_t alignment, device::cuda::Stream) noexcept {
  return Reallocate(name, current, size, alignment);
}

void OutputAllocator::TellShape(const char*, const Dims& dims) noexcept {
  try {
    shape_.assign(dims.d, dims.d + std::clamp(dims.count, 0, Dims::kMost));
    told_ = dims.count >= 0;
  } catch (const std::bad_alloc&) {
    status_ = Status::NoMemory();
  }
}

}  // namespace tritonts::tensorrt
