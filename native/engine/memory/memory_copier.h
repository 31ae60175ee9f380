// Memory that the processor does not address, such as a GPU's: who allocates it, and who copies to
// and from it.
//
// A block that lies there knows a copier (Block::copier); an instance that works there has one
// (Instance::memory). The engine itself copies what the processor addresses.
#pragma once

#include <string>

#include "engine/base/status.h"
#include "engine/memory/buffer.h"

namespace tritonts {

// Whether the processor reads and writes memory of this kind.
constexpr bool IsHostMemory(MemoryKind kind) {
  return kind != MemoryKind::kDevice;
}

// Whether what lies in memory of kind `kind` on `device` can be used where `wanted` on
// `wanted_device` is asked for, as it is.
constexpr bool Serves(MemoryKind kind, int device, MemoryKind wanted, int wanted_device) {
  if (wanted == MemoryKind::kHost) return IsHostMemory(kind);
  return kind == wanted && (IsHostMemory(kind) || device == wanted_device);
}

// "host memory", "memory of device 1": for messages.
std::string NameOf(MemoryKind kind, int device);

// Allocates and copies memory of one kind or more. Any thread; outlives its blocks.
class MemoryCopier {
 public:
  virtual ~MemoryCopier() = default;
  // At least `size` bytes, contents undefined. Null where it has none of that kind.
  virtual BlockRef Allocate(MemoryKind kind, int device, size_t size) = 0;
  virtual bool Copies(MemoryKind from, MemoryKind to) const = 0;
  // Copies `from.size` bytes to the beginning of `to`; they are there when this returns.
  virtual Status Copy(const Buffer& from, const Buffer& to) = 0;
};

// Copies `from.size` bytes to the beginning of `to`: with the processor where it can, else with
// `own`, or the copier of either one's block. UNSUPPORTED, with the kinds, where nobody can.
Status CopyBytes(const Buffer& from, const Buffer& to, MemoryCopier* own = nullptr);

}  // namespace tritonts
