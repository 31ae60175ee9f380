// Memory for blocks. Large blocks come directly from the system, so that freed memory returns to
// the system.
//
// The C library's allocator keeps freed memory, separately for each thread. A server that loaded
// and unloaded models had four times the resident memory that it used.
#pragma once

#include <cstddef>

namespace tritonts::platform {

// Allocates at least `size` bytes (not 0) at a multiple of `alignment` (at most a page). The
// contents are undefined. Null: there is no memory. Any thread may call it.
void* AllocateBlock(size_t size, size_t alignment);

// Frees memory that AllocateBlock returned for the same `size`. Any thread may call it.
void FreeBlock(void* memory, size_t size);

// Returns free pages of the C library's allocator to the system (only with glibc). Other threads
// that allocate may wait for it, for some milliseconds in a process with hundreds of models. Any
// thread may call it.
void ReturnFreePages();

}  // namespace tritonts::platform
