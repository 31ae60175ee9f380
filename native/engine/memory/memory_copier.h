// Allocates memory that the processor cannot address, such as a GPU's, and copies to and from it.
//
// A block in such memory knows its copier (Block::copier). An instance that works on such memory
// has a copier (Instance::memory). The engine itself copies memory that the processor can address.
#pragma once

#include <string>

#include "engine/base/status.h"
#include "engine/memory/buffer.h"

namespace tritonts {

// Whether the processor can read and write memory of this kind.
constexpr bool IsHostMemory(MemoryKind kind) {
  return kind != MemoryKind::kDevice;
}

// Whether memory of this kind may be kept without limit, and no other process writes to it.
constexpr bool IsPrivateHostMemory(MemoryKind kind) {
  return IsHostMemory(kind) && kind != MemoryKind::kShared;
}

// Whether memory of kind `kind` on `device` can be used without a copy for a request of kind
// `wanted` on `wanted_device`.
constexpr bool Serves(MemoryKind kind, int device, MemoryKind wanted, int wanted_device) {
  if (wanted == MemoryKind::kHost) return IsHostMemory(kind);
  return kind == wanted && (IsHostMemory(kind) || device == wanted_device);
}

// A name for messages, such as "host memory" or "memory of device 1".
std::string NameOf(MemoryKind kind, int device);

// Allocates and copies memory of one or more kinds. It outlives its blocks. Any thread may call it.
class MemoryCopier {
 public:
  virtual ~MemoryCopier() = default;
  // Allocates at least `size` bytes, contents undefined. Null: it has no memory of that kind.
  virtual BlockRef Allocate(MemoryKind kind, int device, size_t size) = 0;
  virtual bool Copies(MemoryKind from, MemoryKind to) const = 0;
  // Copies `from.size` bytes to the beginning of `to`. The copy is complete when this returns.
  virtual Status Copy(const Buffer& from, const Buffer& to) = 0;
};

// Copies `from.size` bytes to the beginning of `to`. The processor copies if it can address both,
// else `own` does, else the copier of either block. If none of them can, returns UNSUPPORTED, with
// a message that names both kinds.
Status CopyBytes(const Buffer& from, const Buffer& to, MemoryCopier* own = nullptr);

}  // namespace tritonts
