#include "c_api/response.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace tritonts::c_api {

namespace {

constexpr size_t kAlignment = 64;
// Outputs of at most so many bytes are copied into the response, so that they keep no block.
constexpr size_t kOwnBytes = 4096;

constexpr size_t Aligned(size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

const OutputTarget* TargetOf(const ResponseParts& parts, uint32_t output) {
  for (const OutputTarget& target : parts.targets) {
    if (target.output == output) return &target;
  }
  return nullptr;
}

bool IsCopied(const OutputTensor& output) {
  return !output.block || output.size <= kOwnBytes;
}

uint64_t Between(uint64_t begin, uint64_t end) {
  return end > begin ? end - begin : 0;
}

tritonts_timings TimingsOf(const BatchTimings& batch, uint64_t arrival_ns) {
  tritonts_timings timings = {};
  timings.queue_ns = Between(arrival_ns, batch.exec_start_ns);
  timings.compute_input_ns = Between(batch.exec_start_ns, batch.compute_start_ns);
  timings.compute_infer_ns = Between(batch.compute_start_ns, batch.compute_end_ns);
  timings.compute_output_ns = Between(batch.compute_end_ns, batch.exec_end_ns);
  timings.batch_size = batch.batch_size;
  return timings;
}

}  // namespace

Status OutputShapes::Set(const Binding& binding, std::span<const OutputTensor> outputs) {
  for (const OutputTensor& output : outputs) {
    TensorShape shape;
    if (output.batch >= 0) shape.push_back(output.batch);
    for (const int64_t dim : output.tail) shape.push_back(dim);
    Status status = ToCallerShape(binding.served->name(), binding.io(), output.index, &shape);
    if (!status.ok()) return status;
    shapes_.push_back(std::move(shape));
  }
  return Status::Ok();
}

tritonts_response* MakeResponse(const ResponseParts& parts) noexcept {
  const size_t count = parts.outputs.size();
  size_t dims = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) {
    const OutputTensor& output = parts.outputs[i];
    dims += (*parts.shapes)[i].size();
    if (IsCopied(output) && !TargetOf(parts, output.index)) bytes += Aligned(output.size);
  }
  const size_t outputs_at = sizeof(tritonts_response);
  static_assert(alignof(tritonts_response) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__ &&
                alignof(tritonts_response::Output) <= alignof(tritonts_response));
  const size_t dims_at = outputs_at + count * sizeof(tritonts_response::Output);
  const size_t bytes_at = dims_at + dims * sizeof(int64_t);
  // Without an alignment, which is several times as fast. Bytes are aligned below.
  auto* const memory = static_cast<char*>(
      ::operator new(bytes_at + (bytes > 0 ? kAlignment + bytes : 0), std::nothrow));
  if (!memory) return nullptr;
  auto* const response = new (memory) tritonts_response();
  response->error.status = *parts.status;
  response->binding = *parts.binding;
  if (parts.timings) {
    response->timings = TimingsOf(*parts.timings, parts.arrival_ns);
    response->version = response->binding->version;
  }
  auto* const outputs = reinterpret_cast<tritonts_response::Output*>(memory + outputs_at);
  auto* dim = reinterpret_cast<int64_t*>(memory + dims_at);
  char* own = memory + bytes_at;
  own += (kAlignment - reinterpret_cast<uintptr_t>(own) % kAlignment) % kAlignment;
  for (size_t i = 0; i < count; i++) {
    const OutputTensor& output = parts.outputs[i];
    const TensorShape& shape = (*parts.shapes)[i];
    auto* const made = new (outputs + i) tritonts_response::Output();
    tritonts_output& view = made->view;
    view.name = response->binding->io().outputs[output.index].name.c_str();
    view.dims = dim;
    view.rank = shape.size();
    dim = std::copy(shape.begin(), shape.end(), dim);
    view.bytes = output.size;
    view.datatype = static_cast<int32_t>(output.datatype);
    const char* const data = static_cast<const char*>(output.data) + parts.number * output.size;
    const OutputTarget* const target = TargetOf(parts, output.index);
    if (target) {
      view.data = target->data;
      if (target->data != data && output.size > 0) std::memmove(target->data, data, output.size);
      continue;
    }
    response->charged += output.size;
    if (IsCopied(output)) {
      view.data = own;
      if (output.size > 0) std::memcpy(own, data, output.size);
      own += Aligned(output.size);
    } else {
      view.data = data;
      made->block = BlockRef::Share(output.block);
    }
  }
  response->outputs = {outputs, count};
  return response;
}

void DeleteResponse(tritonts_response* response) noexcept {
  if (!response) return;
  for (tritonts_response::Output& output : response->outputs) output.~Output();
  if (response->charged > 0) {
    response->binding->client->server().budget().Release(response->charged);
  }
  if (response->stream) response->stream->NoteRead(1, response->counted);
  response->~tritonts_response();
  ::operator delete(response);
}

}  // namespace tritonts::c_api
