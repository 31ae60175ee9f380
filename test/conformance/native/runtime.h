// Bare ONNX Runtime: without our backend, and with the runtime's default settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "backends/onnxruntime/table.h"
#include "base/status.h"

namespace tritonts::onnxruntime::bare {

// An open library with an environment. Never released, because the runtime's threads outlive main.
struct Runtime {
  Table table;
  OrtEnv* env = nullptr;
  OrtMemoryInfo* memory = nullptr;
  OrtAllocator* allocator = nullptr;  // the runtime's default one

  static StatusOr<Runtime> Open(const std::string& library);

  // The runtime's result as a status: INTERNAL with its text. Releases it.
  Status Take(OrtStatus* status) const;
};

// Bytes of one element; 0 for strings and for types that do not occur in the cases.
size_t ElementSize(ElementType type);

size_t CountElements(std::span<const int64_t> shape);

}  // namespace tritonts::onnxruntime::bare
