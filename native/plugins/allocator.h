// Functions of a caller that give memory to the outputs of its responses.
//
// Ownership: the caller's, until TRITONSERVER_ResponseAllocatorDelete. It outlives the requests
// that use it, and their responses. Any number of threads may use one; its functions are called on
// the threads on which requests end.
#pragma once

#include "plugins/abi/types.h"

struct TRITONSERVER_ResponseAllocator {
  TRITONSERVER_ResponseAllocatorAllocFn_t alloc = nullptr;
  TRITONSERVER_ResponseAllocatorReleaseFn_t release = nullptr;
  // Called once for each response before its memory is asked for; null: not.
  TRITONSERVER_ResponseAllocatorStartFn_t start = nullptr;
  // Told what is known of a buffer, right after its allocation; null: not.
  TRITONSERVER_ResponseAllocatorBufferAttributesFn_t attributes = nullptr;
  // Asked which memory an output should have, before its allocation; null: the host's.
  TRITONSERVER_ResponseAllocatorQueryFn_t query = nullptr;
};
