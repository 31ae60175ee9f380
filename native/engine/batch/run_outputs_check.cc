// Validation of declared outputs (run_outputs.h).
#include <algorithm>
#include <string>

#include "engine/batch/run_outputs.h"

namespace tritonts {

namespace {

std::string ShapeText(int64_t rows, std::span<const int64_t> tail) {
  std::string text = "[";
  if (rows >= 0) text += std::to_string(rows);
  for (const int64_t dim : tail) {
    if (text.size() > 1) text += ',';
    text += std::to_string(dim);
  }
  text += ']';
  return text;
}

// The number of elements of `rows` times `tail`; -1 if that is not a valid shape.
int64_t CountElements(int64_t rows, std::span<const int64_t> tail) {
  constexpr int64_t kMost = int64_t{1} << 48;
  int64_t count = rows;
  bool empty = false;
  for (const int64_t dim : tail) {
    if (dim < 0 || dim > INT32_MAX) return -1;
    if (dim == 0) {
      empty = true;
    } else if (count > kMost / dim) {
      return -1;
    } else {
      count *= dim;
    }
  }
  return empty ? 0 : count;
}

}  // namespace

std::optional<size_t> RunOutputs::SizeOf(uint32_t request, DataType datatype,
                                         std::span<const int64_t> shape) const {
  const bool whole = request == Run::kAll && context_->batching;
  const int64_t elements = CountElements(whole ? int64_t{rows_} : 1, shape);
  if (elements < 0 || ByteSize(datatype) == 0) return std::nullopt;
  const size_t size = static_cast<size_t>(elements) * ByteSize(datatype);
  if (size <= kMostTensorBytes) return size;
  Declared asked;
  asked.tensor.size = size;
  asked.row_bytes = rows_ > 0 ? size / rows_ : 0;
  return IsTooLarge(request, asked) ? std::nullopt : std::optional(size);
}

bool RunOutputs::IsTooLarge(uint32_t request, const Declared& declared) const {
  if (declared.tensor.size <= kMostTensorBytes) return false;
  if (request != Run::kAll || !context_->batching) return true;
  // All requests together may have more, if each request's rows are within the limit.
  for (uint32_t i = 0; i < first_rows_.size(); i++) {
    const size_t first = first_rows_[i];
    if (PartOf(declared, first, first + RowsOf(i)).size > kMostTensorBytes) return true;
  }
  return false;
}

std::string RunOutputs::NoPlace(uint32_t index, DataType datatype,
                                std::span<const int64_t> shape) const {
  return "model '" + context_->model + "', output " + std::to_string(index) +
         ": its backend requested memory for " + Name(datatype) + " " + ShapeText(-1, shape) +
         "; expected a datatype and dims of known size, and at most " +
         std::to_string(kMostTensorBytes) + " bytes (4 GiB) for a request";
}

std::string RunOutputs::TooLarge(const OutputTensor& tensor) const {
  const ModelIo* io = context_->io;
  const std::string name =
      io ? "'" + io->outputs[tensor.index].name + "'" : std::to_string(tensor.index);
  return "model '" + context_->model + "', output " + name + ": expected at most " +
         std::to_string(kMostTensorBytes) +
         " bytes (4 GiB) for a request, but its backend returned " + std::to_string(tensor.size);
}

bool RunOutputs::MakesSense(uint32_t request, const Declared& declared) const {
  const OutputTensor& tensor = declared.tensor;
  const ModelIo* io = context_->io;
  if (io && (tensor.index >= io->outputs.size() ||
             tensor.datatype != io->outputs[tensor.index].datatype)) {
    return false;
  }
  const bool whole = request == Run::kAll && context_->batching;
  const bool rows_in_values = io && io->outputs[tensor.index].rows_in_values;
  if (request != Run::kAll && context_->batching && !rows_in_values &&
      (tensor.tail.empty() || tensor.tail.front() != int64_t{RowsOf(request)})) {
    return false;
  }
  const int64_t elements = CountElements(whole ? int64_t{rows_} : 1, tensor.tail);
  if (elements < 0) return false;
  if (!declared.offsets.empty() &&
      (declared.offsets.size() <= rows_ ||
       !std::is_sorted(declared.offsets.begin(), declared.offsets.end()))) {
    return false;
  }
  // The rows of each request have the elements that the shape says.
  for (uint32_t i = 0; !declared.offsets.empty() && i < first_rows_.size(); i++) {
    const size_t first = first_rows_[i];
    const size_t bytes = declared.offsets[first + RowsOf(i)] - declared.offsets[first];
    const auto own = static_cast<size_t>(CountElements(int64_t{RowsOf(i)}, tensor.tail));
    const size_t width = ByteSize(tensor.datatype);
    if (width == 0 ? bytes / 4 < own : bytes != own * width) return false;
  }
  const auto count = static_cast<size_t>(elements);
  // Each string is preceded by its length.
  if (tensor.datatype == DataType::kBytes) return tensor.size / 4 >= count;
  return tensor.size == count * ByteSize(tensor.datatype);
}

std::string RunOutputs::Complaint(uint32_t request, const Declared& declared) const {
  const OutputTensor& tensor = declared.tensor;
  const ModelIo* io = context_->io;
  std::string text = "model '" + context_->model + "', output ";
  if (io && tensor.index >= io->outputs.size()) {
    return text + std::to_string(tensor.index) +
           ": its backend returned it; expected an index below " +
           std::to_string(io->outputs.size());
  }
  text += io ? "'" + io->outputs[tensor.index].name + "'" : std::to_string(tensor.index);
  if (io && tensor.datatype != io->outputs[tensor.index].datatype) {
    text += ": expected " + std::string(Name(io->outputs[tensor.index].datatype)) + ",";
  } else if (context_->batching) {
    const uint32_t rows = request == Run::kAll ? rows_ : RowsOf(request);
    text += ": expected " + std::to_string(rows) + " rows,";
  } else {
    text += ": expected bytes that fit the shape,";
  }
  const bool whole = request == Run::kAll && context_->batching;
  return text + " but its backend returned " + std::to_string(tensor.size) + " bytes as " +
         Name(tensor.datatype) + " " + ShapeText(whole ? int64_t{rows_} : -1, tensor.tail);
}

}  // namespace tritonts
