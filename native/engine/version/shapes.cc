#include "engine/version/shapes.h"

#include <algorithm>
#include <utility>

namespace tritonts {

namespace {

std::string Text(const int64_t* dims, size_t count) {
  std::string text = "[";
  for (size_t i = 0; i < count; i++) text += (i > 0 ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

// Each -1 of `to` takes the value at the -1 of `from` with the same number; the batch dimension is
// the first. False: the shape does not have the dims `from`.
bool Reshape(const std::vector<int64_t>& from, const std::vector<int64_t>& to, TensorShape* shape) {
  bool fits = shape->size() == from.size();
  for (size_t i = 0; fits && i < from.size(); i++) fits = from[i] < 0 || (*shape)[i] == from[i];
  if (!fits) return false;
  TensorShape other;
  size_t next = 0;
  for (const int64_t dim : to) {
    if (dim >= 0) {
      other.push_back(dim);
      continue;
    }
    while (next < from.size() && from[next] >= 0) next++;
    if (next == from.size()) return false;  // cannot happen: the configuration was checked
    other.push_back((*shape)[next++]);
  }
  *shape = std::move(other);
  return true;
}

std::string Wrong(const std::string& model, const char* what, const std::string& name,
                  const std::vector<int64_t>& dims, const TensorShape& shape) {
  return "model '" + model + "', " + what + " '" + name + "': expected dims " +
         Text(dims.data(), dims.size()) + " but received shape " + Text(shape.data(), shape.size());
}

}  // namespace

void AdaptBatch(const std::vector<int64_t>& dims, bool batches, TensorShape* shape) {
  if (shape->size() == dims.size()) return;
  if (batches && shape->size() + 1 == dims.size()) {
    TensorShape longer;
    longer.push_back(1);
    for (const int64_t dim : *shape) longer.push_back(dim);
    *shape = std::move(longer);
  } else if (!batches && shape->size() == dims.size() + 1 && (*shape)[0] == 1) {
    TensorShape shorter;
    shorter.assign(shape->begin() + 1, shape->end());
    *shape = std::move(shorter);
  }
}

Status ToModelShape(const std::string& model, const ModelIo& io, uint32_t input,
                    TensorShape* shape) {
  const TensorSpec& spec = io.inputs[input];
  AdaptBatch(spec.outer.empty() ? spec.dims : spec.outer, io.max_batch_size > 0, shape);
  if (spec.outer.empty() || Reshape(spec.outer, spec.dims, shape)) return Status::Ok();
  return Status::InvalidArg(Wrong(model, "input", spec.name, spec.outer, *shape));
}

Status ToCallerShape(const std::string& model, const ModelIo& io, uint32_t output,
                     TensorShape* shape) {
  const TensorSpec& spec = io.outputs[output];
  if (spec.outer.empty() || Reshape(spec.dims, spec.outer, shape)) return Status::Ok();
  return Status::Internal(Wrong(model, "output", spec.name, spec.dims, *shape));
}

Status FitToModel(const std::string& model, const ModelIo& io, RequestHeader* header) {
  bool told = io.max_batch_size == 0;
  for (InputTensor& input : header->inputs()) {
    if (input.index >= io.inputs.size()) continue;
    Status status = ToModelShape(model, io, input.index, &input.shape);
    if (!status.ok()) return status;
    if (told || io.inputs[input.index].rows_in_values) continue;
    if (input.shape.empty() || input.shape[0] <= 0) continue;
    if (input.shape[0] > int64_t{UINT32_MAX}) {
      return Status::InvalidArg(
          "model '" + model + "': expected 1 to " + std::to_string(io.max_batch_size) +
          " rows, its max_batch_size, but received " + std::to_string(input.shape[0]));
    }
    header->batch_size = static_cast<uint32_t>(input.shape[0]);
    told = true;
  }
  return Status::Ok();
}

}  // namespace tritonts
