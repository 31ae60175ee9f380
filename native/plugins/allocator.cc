#include "plugins/allocator.h"

#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorNew(
    TRITONSERVER_ResponseAllocator** allocator, TRITONSERVER_ResponseAllocatorAllocFn_t alloc_fn,
    TRITONSERVER_ResponseAllocatorReleaseFn_t release_fn,
    TRITONSERVER_ResponseAllocatorStartFn_t start_fn) noexcept {
  return Guard([&]() -> Status {
    if (!alloc_fn || !release_fn) {
      return Status::InvalidArg(
          "an allocator of responses needs a function that allocates and one that releases");
    }
    *allocator = new TRITONSERVER_ResponseAllocator{alloc_fn, release_fn, start_fn};
    return Status::Ok();
  });
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorSetBufferAttributesFunction(
    TRITONSERVER_ResponseAllocator* allocator,
    TRITONSERVER_ResponseAllocatorBufferAttributesFn_t buffer_attributes_fn) noexcept {
  allocator->attributes = buffer_attributes_fn;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorSetQueryFunction(
    TRITONSERVER_ResponseAllocator* allocator,
    TRITONSERVER_ResponseAllocatorQueryFn_t query_fn) noexcept {
  allocator->query = query_fn;
  return nullptr;
}

TRITONSERVER_Error* TRITONSERVER_ResponseAllocatorDelete(
    TRITONSERVER_ResponseAllocator* allocator) noexcept {
  delete allocator;
  return nullptr;
}

}  // namespace tritonts::plugins
