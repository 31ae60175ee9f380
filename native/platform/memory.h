// Memory for blocks: large ones straight from the system, so that what is freed goes back to it.
//
// An allocator that serves many threads keeps what was freed, each thread's in places of its own:
// a server whose models come and go had four times the resident memory that it used.
#pragma once

#include <cstddef>

namespace tritonts::platform {

// At least `size` bytes (which is not 0) at a multiple of `alignment`, at most a page's; contents
// undefined. Null without memory. Any thread.
void* AllocateBlock(size_t size, size_t alignment);

// Frees what AllocateBlock gave for the same `size`. Any thread.
void FreeBlock(void* memory, size_t size);

// Gives whole pages that the C library's allocator has free back to the system, where it can be
// asked to (glibc). Other threads that allocate may wait for it, some milliseconds in a process of
// hundreds of models. Any thread.
void ReturnFreePages();

}  // namespace tritonts::platform
