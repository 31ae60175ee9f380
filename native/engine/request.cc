#include "request.h"

#include "rules.h"

namespace tritonts {

void Request::TakeParts(Request* other, uint32_t first, uint32_t count) {
  TRITONTS_ASSERT(
      count > 0 && count < other->parts && (first == 0 || first + count == other->parts),
      "a request was cut where it has no parts");
  const uint32_t all = other->parts;
  const uint32_t left = all - count;
  const uint32_t rows = other->rows_of_part();
  priority = other->priority;
  timeout_us = other->timeout_us;
  arrival_ns = other->arrival_ns;
  shape_key = other->shape_key;
  sink = other->sink;
  version = other->version;
  slot = other->slot;
  generation = other->generation;
  flush = other->flush;
  wanted = other->wanted;
  cancelled.store(other->cancelled.load(std::memory_order_relaxed), std::memory_order_relaxed);
  first_part = other->first_part + first;
  if (first == 0) other->first_part += count;
  parts = count;
  other->parts = left;
  batch_size = rows * count;
  other->batch_size = rows * left;
  accounted_bytes = other->accounted_bytes / all * count;
  other->accounted_bytes -= accounted_bytes;
  ClearInputs();
  for (InputTensor& from : other->inputs()) {
    InputTensor& input = AddInput();
    input.index = from.index;
    input.datatype = from.datatype;
    input.shape = from.shape;
    input.shape[0] = batch_size;
    from.shape[0] = other->batch_size;
    // A request of several parts has its bytes in one piece.
    Buffer& bytes = from.chunks.front();
    const size_t part = bytes.size / all;
    char* const data = static_cast<char*>(bytes.data);
    input.chunks.push_back(
        {data + first * part, count * part, bytes.kind, bytes.device, bytes.owner});
    if (first == 0) bytes.data = data + count * part;
    bytes.size = left * part;
  }
}

}  // namespace tritonts
