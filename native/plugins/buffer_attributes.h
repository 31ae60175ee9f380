// What is known of a buffer: its kind of memory, its device, its size, and the handle by which
// other processes open it.
//
// Ownership: the caller's, until TRITONSERVER_BufferAttributesDelete, if it has made them. Others
// are part of a tensor, and end with it. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/abi/types.h"

struct TRITONSERVER_BufferAttributes {
  size_t byte_size = 0;
  TRITONSERVER_MemoryType memory_type = TRITONSERVER_MEMORY_CPU;
  int64_t memory_type_id = 0;
  void* cuda_ipc_handle = nullptr;  // borrowed
  bool is_callers = false;          // made by TRITONSERVER_BufferAttributesNew
};
