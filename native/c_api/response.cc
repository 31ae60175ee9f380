#include "c_api/response.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <variant>

#include "engine/request/response_parameters.h"

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

// Bytes that the parameters of a response count.
uint64_t ParametersBytes(const tritonts_response& response) {
  return response.parameters ? response.parameters->bytes : 0;
}

uint64_t Between(uint64_t begin, uint64_t end) {
  return end > begin ? end - begin : 0;
}

// Throws std::bad_alloc.
std::unique_ptr<const tritonts_response::Parameters> ParametersOf(
    const ResponseParameters& parameters) {
  const std::vector<RequestParameter>& all = *parameters;
  auto made = std::make_unique<tritonts_response::Parameters>();
  made->all = parameters;
  made->names.AddAll(all);
  made->bytes = ParameterBytes(parameters);
  made->views.resize(all.size());
  for (size_t i = 0; i < all.size(); i++) {
    tritonts_response::Parameters::One& one = made->views[i];
    tritonts_parameter& view = one.view;
    view.name = all[i].name.c_str();
    if (const auto* text = std::get_if<std::string>(&all[i].value)) {
      view = {view.name, text->c_str(), text->size(), TRITONTS_PARAMETER_STRING};
    } else if (const auto* whole = std::get_if<int64_t>(&all[i].value)) {
      view = {view.name, whole, sizeof(*whole), TRITONTS_PARAMETER_INT};
    } else if (const auto* real = std::get_if<double>(&all[i].value)) {
      view = {view.name, real, sizeof(*real), TRITONTS_PARAMETER_DOUBLE};
    } else {
      one.flag = std::get<bool>(all[i].value) ? 1 : 0;
      view = {view.name, &one.flag, sizeof(one.flag), TRITONTS_PARAMETER_BOOL};
    }
  }
  return made;
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

char* ResponseBlocks::Take(const std::shared_ptr<const Binding>& binding, size_t size,
                           ResponseBlock** block) noexcept {
  size = Aligned(size);
  if (!block_ || size > left_ || block_->binding != binding) {
    Close();
    const size_t fit = std::max<size_t>(1, kMostBytes / size);
    const size_t count = std::clamp<size_t>(coming_, 1, std::min(fit, kMostTogether));
    // Without an alignment, which is several times as fast.
    void* const memory =
        ::operator new(sizeof(ResponseBlock) + kAlignment + count * size, std::nothrow);
    if (!memory) return nullptr;
    block_ = new (memory) ResponseBlock();
    block_->binding = binding;
    at_ = reinterpret_cast<char*>(block_ + 1);
    at_ += (kAlignment - reinterpret_cast<uintptr_t>(at_) % kAlignment) % kAlignment;
    left_ = count * size;
    taken_ = 0;
  }
  char* const place = at_;
  at_ += size;
  left_ -= size;
  taken_++;
  if (coming_ > 0) coming_--;
  *block = block_;
  return place;
}

tritonts_response* MakeResponse(const ResponseParts& parts, ResponseBlocks* blocks) noexcept {
  const size_t count = parts.outputs.size();
  size_t dims = 0;
  size_t bytes = 0;
  for (size_t i = 0; i < count; i++) {
    const OutputTensor& output = parts.outputs[i];
    dims += (*parts.shapes)[i].size();
    if (IsCopied(output) && !TargetOf(parts, output.index)) bytes += Aligned(output.size);
  }
  std::unique_ptr<const tritonts_response::Parameters> parameters;
  if (parts.parameters) {
    try {
      parameters = ParametersOf(parts.parameters);
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }
  const size_t outputs_at = sizeof(tritonts_response);
  static_assert(alignof(tritonts_response) <= kAlignment &&
                alignof(tritonts_response::Output) <= alignof(tritonts_response));
  const size_t dims_at = outputs_at + count * sizeof(tritonts_response::Output);
  const size_t bytes_at = Aligned(dims_at + dims * sizeof(int64_t));
  ResponseBlock* block = nullptr;
  char* const memory = blocks->Take(*parts.binding, bytes_at + bytes, &block);
  if (!memory) return nullptr;
  auto* const response = new (memory) tritonts_response();
  response->error.status = *parts.status;
  response->block = block;
  response->binding = block->binding.get();
  response->arrival_ns = parts.arrival_ns;
  response->parameters = std::move(parameters);
  response->charged = response->apart = ParametersBytes(*response);
  if (parts.timings) {
    response->timings = TimingsOf(*parts.timings, parts.arrival_ns);
    response->version = response->binding->version;
  }
  auto* const outputs = reinterpret_cast<tritonts_response::Output*>(memory + outputs_at);
  auto* dim = reinterpret_cast<int64_t*>(memory + dims_at);
  char* own = memory + bytes_at;
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
      response->apart += output.size;
    }
  }
  response->outputs = {outputs, count};
  block->charged += response->charged;
  return response;
}

namespace {

// Releases bytes of the budget before the block is freed.
void ReleaseEarly(const tritonts_response& response, uint64_t bytes) {
  if (bytes == 0) return;
  response.block->released.fetch_add(bytes, std::memory_order_relaxed);
  response.binding->client->server().budget().Release(bytes);
}

}  // namespace

void ForgetOutputs(tritonts_response* response) noexcept {
  const uint64_t left = ParametersBytes(*response);
  for (tritonts_response::Output& output : response->outputs) {
    output.block.reset();
    output.view.data = nullptr;
  }
  response->apart = left;
  ReleaseEarly(*response, std::exchange(response->charged, left) - left);
  if (response->stream) response->stream->NoteRead(1, response->counted);
  response->stream.reset();
}

void DeleteResponse(tritonts_response* response) noexcept {
  if (!response) return;
  ResponseBlock* const block = response->block;
  for (tritonts_response::Output& output : response->outputs) output.~Output();
  // The other bytes are freed with the block.
  ReleaseEarly(*response, response->apart);
  if (response->stream) response->stream->NoteRead(1, response->counted);
  response->~tritonts_response();
  if (block->responses.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  const uint64_t charged = block->charged - block->released.load(std::memory_order_relaxed);
  if (charged > 0) block->binding->client->server().budget().Release(charged);
  block->~ResponseBlock();
  ::operator delete(block);
}

}  // namespace tritonts::c_api
