#include "engine/running/collector.h"

namespace tritonts {

Status Gather(Run& run, uint32_t index, bool batching, Gathered* out, MemoryKind wanted,
              int device) {
  out->buffer = Buffer();
  out->present = false;
  out->copied = false;
  const auto requests = run.requests();
  size_t total = 0;
  const char* end = nullptr;      // where the chunk before ended, while all are neighbours
  const Buffer* begin = nullptr;  // the first one with bytes
  bool neighbours = true;
  for (Request* request : requests) {
    const InputTensor* input = request->input(index);
    if (!input) {
      if (out->present) {
        return Status::InvalidArg("an optional input is present in only some requests of a batch");
      }
      continue;
    }
    if (!out->present) {
      if (request != requests.front()) {
        return Status::InvalidArg("an optional input is present in only some requests of a batch");
      }
      out->present = true;
      out->shape.assign(input->shape.begin(), input->shape.end());
    } else if (batching) {
      // Not memcmp: of so few dims the call would be the greater part.
      bool same = input->shape.size() == out->shape.size();
      for (size_t i = 1; same && i < out->shape.size(); i++)
        same = input->shape[i] == out->shape[i];
      if (!same) {
        return Status::InvalidArg("requests of different shapes met in one batch");
      }
      out->shape[0] += input->shape[0];
    }
    for (const Buffer& chunk : input->chunks) {
      if (chunk.size == 0) continue;
      if (!begin) {
        begin = &chunk;
        neighbours = Serves(chunk.kind, chunk.device, wanted, device);
      } else if (chunk.data != end || chunk.kind != begin->kind || chunk.device != begin->device) {
        neighbours = false;
      }
      end = static_cast<const char*>(chunk.data) + chunk.size;
      total += chunk.size;
    }
  }
  if (!out->present) return Status::Ok();
  out->buffer.kind = wanted;
  out->buffer.device = device;
  out->buffer.size = total;
  if (neighbours) {
    if (!begin) return Status::Ok();
    out->buffer.data = begin->data;
    out->buffer.kind = begin->kind;
    out->buffer.device = begin->device;
    return Status::Ok();
  }
  BlockRef block;
  if (wanted == MemoryKind::kHost) {
    block = run.pool().Acquire(total);
  } else if (MemoryCopier* memory = run.memory()) {
    block = memory->Allocate(wanted, device, total);
  } else {
    return Status::Unsupported("nothing here allocates " + NameOf(wanted, device));
  }
  if (!block) {
    return Status::Unavailable("no " + NameOf(wanted, device) + " for a batch input of " +
                               std::to_string(total) + " bytes");
  }
  Buffer target{block->data(), total, block->kind(), block->device(), block};
  for (Request* request : requests) {
    for (const Buffer& chunk : request->input(index)->chunks) {
      if (chunk.size == 0) continue;
      if (Status status = CopyBytes(chunk, target, run.memory()); !status.ok()) return status;
      target.data = static_cast<char*>(target.data) + chunk.size;
      target.size -= chunk.size;
    }
  }
  out->copied = true;
  out->buffer = {block->data(), total, block->kind(), block->device(), block};
  return Status::Ok();
}

}  // namespace tritonts
