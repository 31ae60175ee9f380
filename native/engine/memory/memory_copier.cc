#include "engine/memory/memory_copier.h"

#include <cstring>

namespace tritonts {

std::string NameOf(MemoryKind kind, int device) {
  switch (kind) {
    case MemoryKind::kHost:
      return "host memory";
    case MemoryKind::kPinned:
      return "pinned memory";
    case MemoryKind::kDevice:
      return "memory of device " + std::to_string(device);
    case MemoryKind::kShared:
      return "shared memory";
  }
  return "memory";
}

Status CopyBytes(const Buffer& from, const Buffer& to, MemoryCopier* own) {
  if (from.size == 0) return Status::Ok();
  if (IsHostMemory(from.kind) && IsHostMemory(to.kind)) {
    std::memcpy(to.data, from.data, from.size);
    return Status::Ok();
  }
  MemoryCopier* const copiers[] = {own, from.owner ? from.owner->copier() : nullptr,
                                   to.owner ? to.owner->copier() : nullptr};
  for (MemoryCopier* copier : copiers) {
    if (copier && copier->Copies(from.kind, to.kind)) return copier->Copy(from, to);
  }
  return Status::Unsupported("cannot copy from " + NameOf(from.kind, from.device) + " to " +
                             NameOf(to.kind, to.device));
}

}  // namespace tritonts
