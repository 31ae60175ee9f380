// A block for a tensor that the runtime allocated.
#pragma once

#include "engine/backend.h"
#include "table.h"

namespace tritonts::onnxruntime {

// Owns the value. It may outlive the session, because the tensor keeps its allocator.
class ValueBlock final : public Block {
 public:
  ValueBlock(const Table& table, OrtValue* value, void* data, size_t size,
             MemoryKind kind = MemoryKind::kHost, int device = 0)
      : Block(data, size, kind, device), table_(table), value_(value) {}

 private:
  void Dispose() override {
    table_.Call(kReleaseValue, value_);
    delete this;
  }

  const Table table_;
  OrtValue* const value_;
};

}  // namespace tritonts::onnxruntime
