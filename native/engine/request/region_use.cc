#include "engine/request/region_use.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "engine/memory/memory_copier.h"
#include "engine/memory/region.h"
#include "engine/request/executor.h"
#include "engine/request/model_io.h"
#include "engine/request/response_sink.h"

namespace tritonts {

bool ReadsInPlace(const Executor& executor, uint32_t input, const Buffer& range) {
  const TensorSpec& spec = executor.io().inputs[input];
  return MayBeShared(spec.datatype) && !spec.rows_in_values &&
         executor.Takes(input, range.kind, range.device) &&
         (IsHostMemory(range.kind) || executor.RunsOn(range.device)) &&
         reinterpret_cast<uintptr_t>(range.data) % ByteSize(spec.datatype) == 0;
}

bool RegionUse::Overlaps(const Buffer& range) const {
  const auto* const begin = static_cast<const char*>(range.data);
  for (const Target& target : targets_) {
    const auto* const first = static_cast<const char*>(target.first.data);
    if (begin < first + target.first.size * requests_ && first < begin + range.size) return true;
  }
  return false;
}

const RegionUse::Target* RegionUse::Find(uint32_t output) const {
  for (const Target& target : targets_) {
    if (target.output == output) return &target;
  }
  return nullptr;
}

Buffer RegionUse::PlaceOf(const Target& target, const Request& request) {
  Buffer place = target.first;
  place.data = static_cast<char*>(place.data) + request.position * place.size;
  return place;
}

Buffer RegionUse::Place(const Request& request, uint32_t output, size_t size) const {
  const Target* const target = Find(output);
  if (!target || size > target->first.size || !IsHostMemory(target->first.kind)) return {};
  Buffer place = PlaceOf(*target, request);
  const DataType datatype = request.header->executor->io().outputs[output].datatype;
  const bool aligned =
      reinterpret_cast<uintptr_t>(place.data) % std::max<size_t>(1, ByteSize(datatype)) == 0;
  return aligned && MayBeShared(datatype) ? place : Buffer();
}

bool RegionUse::TakesOnDevice(uint32_t output, int device) const {
  const Target* const target = Find(output);
  if (!target || target->first.kind != MemoryKind::kDevice || target->first.device != device) {
    return false;
  }
  const MemoryCopier* const copier = target->first.owner->copier();
  return copier && copier->Copies(MemoryKind::kDevice, MemoryKind::kDevice);
}

Status RegionUse::CheckWhole() const {
  for (const auto& region : regions_) {
    if (Status status = region->CheckWhole(); !status.ok()) return status;
  }
  return Status::Ok();
}

Status RegionUse::Store(const Request& request, std::span<const OutputTensor> outputs) const {
  const Executor& executor = *request.header->executor;
  const auto about = [&](const OutputTensor& output) {
    return "model '" + executor.name() + "', output '" + executor.io().outputs[output.index].name +
           "': ";
  };
  for (const OutputTensor& output : outputs) {
    const Target* const target = Find(output.index);
    if (!target || output.size <= target->first.size) continue;
    return Status::InvalidArg("shared memory size specified with the request for output '" +
                              executor.io().outputs[output.index].name + "' (" +
                              std::to_string(target->first.size) + " bytes) should be at least " +
                              std::to_string(output.size) + " bytes to hold the results");
  }
  for (const OutputTensor& output : outputs) {
    const Target* const target = Find(output.index);
    if (!target) continue;
    Buffer to = PlaceOf(*target, request);
    if (to.data == output.data || output.size == 0) continue;
    if (IsHostMemory(output.kind) && IsHostMemory(to.kind)) {
      // A model that returns its input may return memory of the same region.
      std::memmove(to.data, output.data, output.size);
      continue;
    }
    const int device = output.block ? output.block->device() : 0;
    const Buffer from{const_cast<void*>(output.data), output.size, output.kind, device,
                      BlockRef::Share(output.block)};
    to.size = output.size;
    if (Status status = CopyBytes(from, to); !status.ok()) {
      return status.With(about(output) + status.message());
    }
  }
  return Status::Ok();
}

}  // namespace tritonts
