#include "collector.h"

#include <cstring>

namespace tritonts {

Status Gather(Batch& batch, uint32_t index, bool batching, Gathered* out) {
  out->buffer = Buffer();
  out->present = false;
  out->copied = false;
  const auto requests = batch.requests();
  size_t total = 0;
  const char* end = nullptr;  // where the chunk before ended, while all are neighbours
  const void* begin = nullptr;
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
        begin = chunk.data;
      } else if (chunk.data != end || chunk.kind != MemoryKind::kHost) {
        neighbours = false;
      }
      end = static_cast<const char*>(chunk.data) + chunk.size;
      total += chunk.size;
    }
  }
  if (!out->present) return Status::Ok();
  if (neighbours) {
    out->buffer.data = const_cast<void*>(begin);
    out->buffer.size = total;
    return Status::Ok();
  }
  BlockRef block = batch.pool().Acquire(total);
  if (!block) {
    return Status::Unavailable("no memory for a batch input of " + std::to_string(total) +
                               " bytes");
  }
  char* target = static_cast<char*>(block->data());
  for (Request* request : requests) {
    for (const Buffer& chunk : request->input(index)->chunks) {
      if (chunk.size == 0) continue;
      std::memcpy(target, chunk.data, chunk.size);
      target += chunk.size;
    }
  }
  out->copied = true;
  out->buffer.data = block->data();
  out->buffer.size = total;
  out->buffer.owner = std::move(block);
  return Status::Ok();
}

}  // namespace tritonts
