#include "engine/batch/output_memory.h"

#include <new>
#include <string>
#include <utility>

#include "engine/batch/instance.h"
#include "engine/memory/memory_copier.h"

namespace tritonts {

BlockPool& OutputMemory::pool() const {
  return runner_->pool;
}

MemoryCopier* OutputMemory::copier() const {
  return runner_->instance->memory();
}

StatusOr<Buffer> OutputMemory::Allocate(size_t size, MemoryKind preferred) const {
  BlockRef block;
  if (preferred != MemoryKind::kHost && copier()) {
    block = copier()->Allocate(preferred, runner_->device, size);
  }
  if (!block) block = pool().Acquire(size);
  if (!block)
    return Status::Unavailable(Reason::kNoMemory,
                               "no memory for " + std::to_string(size) + " bytes");
  return Buffer{block->data(), size, block->kind(), block->device(), block};
}

Status OutputMemory::Fetch(const Request& request, OutputTensor* output,
                           std::vector<BlockRef>* copies) const try {
  const int device = output->block ? output->block->device() : 0;
  if (IsPrivateHostMemory(output->kind) ||
      request.header->sink->Takes(request, output->index, output->kind, device)) {
    return Status::Ok();
  }
  Status status;
  BlockPool* const own = output->block ? output->block->copies() : nullptr;
  BlockRef copy = (own ? own : &pool())->Acquire(output->size);
  if (copy) {
    status = CopyBytes({const_cast<void*>(output->data), output->size, output->kind, device,
                        BlockRef::Share(output->block)},
                       {copy->data(), output->size, MemoryKind::kHost, 0, copy}, copier());
  } else {
    status = Status::Unavailable(Reason::kNoMemory,
                                 "no memory for " + std::to_string(output->size) + " bytes");
  }
  if (!status.ok()) {
    const ModelIo* io = context_->io;
    const std::string name =
        io ? "'" + io->outputs[output->index].name + "'" : std::to_string(output->index);
    return status.With("model '" + context_->model + "', output " + name + ": " + status.message());
  }
  copies->push_back(copy);
  output->data = copy->data();
  output->kind = MemoryKind::kHost;
  output->block = copy.get();
  return status;
} catch (const std::bad_alloc&) {
  return context_->no_response;
}

bool OutputMemory::Hold(OutputTensor* output, size_t size, std::vector<BlockRef>* copies) const {
  auto copy = Allocate(size, output->kind);
  const Buffer from{const_cast<void*>(output->data), size, output->kind, runner_->device, {}};
  if (!copy.ok() || !CopyBytes(from, copy.value(), copier()).ok()) return false;
  Buffer held = copy.take();
  output->data = held.data;
  output->kind = held.kind;
  output->block = held.owner.get();
  copies->push_back(std::move(held.owner));
  return true;
}

}  // namespace tritonts
