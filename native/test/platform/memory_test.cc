// Memory for blocks, from the allocator or the system.
#include "platform/memory.h"

#include <cstdint>
#include <cstring>

#include "check.h"

namespace tritonts::test {

TEST(block_memory_is_aligned_and_wholly_usable_at_every_size) {
  for (const size_t size : {size_t{1}, size_t{64}, size_t{4095}, (size_t{128} << 10) - 1,
                            size_t{128} << 10, (size_t{1} << 20) + 1, size_t{64} << 20}) {
    for (const size_t alignment : {size_t{64}, size_t{4096}}) {
      void* memory = platform::AllocateBlock(size, alignment);
      CHECK(memory != nullptr);
      CHECK_EQ(reinterpret_cast<uintptr_t>(memory) % alignment, 0u);
      std::memset(memory, 1, size);
      platform::FreeBlock(memory, size);
    }
  }
}

#if !defined(__SANITIZE_ADDRESS__)
// AddressSanitizer would end the process.
TEST(block_memory_beyond_all_bounds_is_null) {
  CHECK(platform::AllocateBlock(size_t{1} << 60, 64) == nullptr);
}
#endif

}  // namespace tritonts::test
