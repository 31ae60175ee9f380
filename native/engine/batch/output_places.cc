#include "engine/batch/output_places.h"

#include <mutex>
#include <new>
#include <optional>

namespace tritonts {

StatusOr<Buffer> OutputPlaces::Output(uint32_t request, uint32_t index, DataType datatype,
                                      std::span<const int64_t> shape, MemoryKind preferred) {
  try {
    return Place(request, index, datatype, shape, preferred);
  } catch (const std::bad_alloc&) {
    return context_->no_response;
  }
}

StatusOr<Buffer> OutputPlaces::Place(uint32_t request, uint32_t index, DataType datatype,
                                     std::span<const int64_t> shape, MemoryKind preferred) {
  // If the output is for one request alone, its sink may provide memory.
  const uint32_t one = request == Run::kAll && members_->size() == 1 ? 0 : request;
  std::optional<size_t> size;
  {
    RunMembers::Lock lock(members_->lock());
    if (!members_->AwaitOpen(one, &lock)) return cancelled_;
    size = outputs_->SizeOf(request, datatype, shape);
    if (!size) return Status::Internal(outputs_->NoPlace(index, datatype, shape));
    if (one != Run::kAll) members_->Seize(one);
  }
  Buffer buffer;
  if (one != Run::kAll) {
    const Request& owner = *(*members_)[one];
    // A response that may be held for its turn must not occupy the sink's memory, which an earlier
    // response may need.
    if (owner.header->Wants(index) && outputs_->IsForCaller(index) && *size > 0 &&
        !context_->order) {
      buffer = owner.header->sink->Place(owner, index, *size, preferred);
    }
    std::lock_guard lock(members_->lock());
    members_->Reopen(one);
  }
  if (!buffer.data || buffer.size < *size) {
    auto allocated = memory_->Allocate(*size, preferred);
    if (!allocated.ok()) return allocated.status();
    buffer = allocated.take();
  }
  buffer.size = *size;
  Declare(request,
          {index, datatype, -1, shape, buffer.data, *size, buffer.kind, buffer.owner.get()});
  return buffer;
}

void OutputPlaces::Declare(uint32_t request, const OutputTensor& tensor,
                           std::span<const size_t> offsets) {
  BlockRef replaced;
  std::lock_guard lock(members_->lock());
  if (members_->undone() == 0 || members_->suspended()) return;
  if (request < members_->size() && members_->done(request)) return;
  replaced = outputs_->Declare(request, tensor, offsets);
}

void OutputPlaces::SetParameters(uint32_t request, ResponseParameters parameters) {
  std::lock_guard lock(members_->lock());
  if (members_->done(request) || members_->suspended()) return;
  // What they replace is dropped after the lock is released.
  outputs_->SetParameters(request, &parameters);
}

void OutputPlaces::Drop(uint32_t request) {
  for (bool more = true; more;) {
    BlockRef block;  // dropped after the lock is released
    std::lock_guard lock(members_->lock());
    more = outputs_->DropOne(request, &block);
  }
}

}  // namespace tritonts
