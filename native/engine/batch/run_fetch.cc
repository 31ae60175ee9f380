// Which outputs sinks take where they are. Others are copied to host memory.
#include <mutex>
#include <new>
#include <string>

#include "engine/batch/run.h"
#include "engine/memory/memory_copier.h"

namespace tritonts {

bool RunOutputs::Takes(std::span<Request* const> requests, const OutputTensor& tensor) {
  if (IsHostMemory(tensor.kind)) return IsPrivateHostMemory(tensor.kind);
  const int device = tensor.block ? tensor.block->device() : 0;
  const RequestHeader* header = nullptr;  // of the request before
  for (const Request* request : requests) {
    if (request->header == header) continue;
    header = request->header;
    if (!header->sink->Takes(*request, tensor.index, tensor.kind, device)) return false;
  }
  return true;
}

void PooledRun::Fetch(Delivery* delivery) {
  for (const auto [i, position] : delivery->uncounted) {
    Response& response = delivery->responses[i];
    const auto first = response.outputs.data() - delivery->outputs.data();
    for (size_t k = 0; k < delivery->output_counts[i] && response.status.ok(); k++) {
      OutputTensor& output = delivery->outputs[static_cast<size_t>(first) + k];
      response.status = FetchOutput(*response.request, &output, delivery);
    }
    if (!response.status.ok()) response.outputs = {};
  }
  std::lock_guard lock(lock_);
  for (const auto [i, position] : delivery->uncounted) {
    const Response& response = delivery->responses[i];
    NoteResponse(position, response, false, delivery->timings);
    if (response.final) Count(response, false, FirstOf(position));
  }
}

Status PooledRun::FetchOutput(const Request& request, OutputTensor* output,
                              Delivery* delivery) try {
  const int device = output->block ? output->block->device() : 0;
  if (IsPrivateHostMemory(output->kind) ||
      request.header->sink->Takes(request, output->index, output->kind, device)) {
    return Status::Ok();
  }
  Status status;
  BlockPool* const copies = output->block ? output->block->copies() : nullptr;
  BlockRef copy = (copies ? copies : &pool())->Acquire(output->size);
  if (copy) {
    status = CopyBytes({const_cast<void*>(output->data), output->size, output->kind, device,
                        BlockRef::Share(output->block)},
                       {copy->data(), output->size, MemoryKind::kHost, 0, copy}, memory());
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
  delivery->copies.push_back(copy);
  output->data = copy->data();
  output->kind = MemoryKind::kHost;
  output->block = copy.get();
  return status;
} catch (const std::bad_alloc&) {
  return context_->no_response;
}

}  // namespace tritonts
