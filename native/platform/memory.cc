#include "memory.h"

#include <cstdint>
#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>
#else
#include <sys/mman.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tritonts::platform {

namespace {

// From this size on, blocks are pages of the system. For smaller blocks that would cost too much.
// AddressSanitizer checks only memory of its own allocator.
#if defined(__SANITIZE_ADDRESS__) || defined(_WIN32)
constexpr size_t kPagesFrom = SIZE_MAX;
#else
constexpr size_t kPagesFrom = size_t{128} << 10;
#endif

}  // namespace

void* AllocateBlock(size_t size, size_t alignment) {
#if defined(_WIN32)
  return _aligned_malloc(size, alignment);
#else
  if (size >= kPagesFrom) {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
#endif
}

void FreeBlock(void* memory, size_t size) {
#if defined(_WIN32)
  (void)size;
  _aligned_free(memory);
#else
  if (size >= kPagesFrom) {
    munmap(memory, size);
  } else {
    std::free(memory);
  }
#endif
}

void ReturnFreePages() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace tritonts::platform
