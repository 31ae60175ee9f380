#include "split_outputs.h"

#include <algorithm>
#include <limits>

#include "faults.h"

namespace tritonts {

namespace {

// The bytes of a tensor of this shape; the largest number if that is too large to count.
size_t BytesOf(DataType datatype, std::span<const int64_t> shape) {
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  size_t bytes = ByteSize(datatype);
  for (const int64_t dim : shape) {
    if (dim <= 0) return 0;
    const auto count = static_cast<size_t>(dim);
    bytes = bytes > kMost / count ? kMost : bytes * count;
  }
  return bytes;
}

std::string Text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (const int64_t dim : shape) text += (text.size() > 1 ? "," : "") + std::to_string(dim);
  return text + "]";
}

}  // namespace

SplitOutputs::SplitOutputs(const ModelIo& io)
    : outputs_(io.outputs), batching_(io.max_batch_size > 0) {
  const bool ragged = std::any_of(io.inputs.begin(), io.inputs.end(), [](const TensorSpec& input) {
    return input.ragged || input.of_batch;
  });
  may_lack_rows_ = batching_ && ragged;
}

bool SplitOutputs::Splits(uint32_t index, std::span<const int64_t> shape, uint32_t rows) const {
  const TensorSpec& output = outputs_[index];
  if (output.shaped_like) return true;
  return may_lack_rows_ && output.datatype != DataType::kBytes && !shape.empty() &&
         shape.front() < int64_t{rows};
}

std::vector<int64_t> SplitOutputs::PartOf(const Run& run, uint32_t request,
                                          const TensorSpec& output,
                                          std::span<const int64_t> shape) const {
  std::vector<int64_t> part;
  if (!output.shaped_like) {
    part.assign(shape.begin(), shape.end());
    part.front() = run.requests()[request]->header->batch_size;
    return part;
  }
  const InputTensor* const source = run.input(request, *output.shaped_like);
  if (!source) return part;
  for (size_t i = 0; i < output.dims.size(); i++) {
    const bool variable = output.dims[i] < 0 && i < source->shape.size();
    part.push_back(variable ? source->shape[i] : output.dims[i]);
  }
  return part;
}

void SplitOutputs::Declare(Run& run, uint32_t index, std::span<const int64_t> shape,
                           const void* data, size_t size, Block* block) {
  const TensorSpec& output = outputs_[index];
  const auto* next = static_cast<const char*>(data);
  size_t left = size;
  for (uint32_t request = 0; request < run.requests().size(); request++) {
    std::vector<int64_t>& part = shapes_.emplace_back(PartOf(run, request, output, shape));
    const size_t bytes = BytesOf(output.datatype, part);
    if (!part.empty() && bytes <= left) {
      run.SetRequestOutput(request, index, output.datatype, part, next, bytes, block);
      next += bytes;
      left -= bytes;
      continue;
    }
    const Status status = Status::Unsupported(
        "failed to split the output tensor: request " + std::to_string(request) +
        " of the batch gets " + Text(part) + ", " + std::to_string(bytes) + " bytes, but only " +
        std::to_string(left) + " of the " + std::to_string(size) + " bytes of shape " +
        Text(shape) + " are left");
    refused_.push_back({request, About("output", output.name, status)});
    // The requests behind it get nothing, either: their parts would begin at a wrong place.
    left = 0;
  }
}

void SplitOutputs::Respond(Run& run, const std::string& model, const Status& status) {
  if (status.ok()) {
    for (const Refused& one : refused_) run.Respond(one.request, About("model", model, one.status));
  }
  run.RespondAll(About("model", model, status));
  refused_.clear();
  shapes_.clear();
}

}  // namespace tritonts
