// Scratch memory for plug-ins. Only of the host: memory of GPUs is their frameworks' matter.
#include <new>
#include <string>

#include "plugins/error.h"
#include "plugins/functions.h"

namespace tritonts::plugins {

namespace {

// As blocks of the engine are, for vector instructions.
constexpr std::align_val_t kAlignment{64};
// More than any machine has. Sizes near 2^64 would overflow where they are aligned.
constexpr uint64_t kMostScratchBytes = uint64_t{1} << 47;

}  // namespace

TRITONSERVER_Error* TRITONBACKEND_MemoryManagerAllocate(TRITONBACKEND_MemoryManager*, void** buffer,
                                                        TRITONSERVER_MemoryType memory_type,
                                                        int64_t, uint64_t byte_size) noexcept {
  *buffer = nullptr;
  if (memory_type != TRITONSERVER_MEMORY_CPU) {
    return Guard([&] {
      return Status::Unsupported(std::string("TRITONBACKEND_MemoryManagerAllocate: this server "
                                             "has no memory of the kind ") +
                                 TRITONSERVER_MemoryTypeString(memory_type) +
                                 " for backends; the kind CPU is there");
    });
  }
  if (byte_size > kMostScratchBytes) return MakeError(Status::NoMemory());
  *buffer = ::operator new(byte_size, kAlignment, std::nothrow);
  return *buffer ? nullptr : MakeError(Status::NoMemory());
}

TRITONSERVER_Error* TRITONBACKEND_MemoryManagerFree(TRITONBACKEND_MemoryManager*, void* buffer,
                                                    TRITONSERVER_MemoryType memory_type,
                                                    int64_t) noexcept {
  if (memory_type != TRITONSERVER_MEMORY_CPU) {
    return Guard([&] {
      return Status::InvalidArg(
          "TRITONBACKEND_MemoryManagerFree: expected memory of the kind CPU, as no other kind was "
          "allocated");
    });
  }
  ::operator delete(buffer, kAlignment);
  return nullptr;
}

}  // namespace tritonts::plugins
