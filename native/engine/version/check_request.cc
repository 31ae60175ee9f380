#include "engine/version/check_request.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "engine/backend.h"
#include "engine/memory/memory_copier.h"
#include "engine/request/shape_values.h"

namespace tritonts {

namespace {

constexpr size_t kLengthBytes = 4;
constexpr uint64_t kMostElements = uint64_t{1} << 48;

std::string Text(std::span<const int64_t> dims) {
  std::string text = "[";
  for (const int64_t dim : dims) text += (text.size() > 1 ? "," : "") + std::to_string(dim);
  return text + "]";
}

// Counts the elements of a shape. False: the shape is invalid or far too large.
bool CountElements(std::span<const int64_t> shape, uint64_t* count) {
  *count = 1;
  bool empty = false;
  for (const int64_t dim : shape) {
    if (dim < 0) return false;
    if (dim == 0) {
      empty = true;
    } else if (*count > kMostElements / static_cast<uint64_t>(dim)) {
      return false;
    } else {
      *count *= static_cast<uint64_t>(dim);
    }
  }
  if (empty) *count = 0;
  return true;
}

// Reads the chunks of an input as one sequence of bytes.
class Reader {
 public:
  Reader(const Request& request, const InputTensor& input) : request_(request), input_(input) {}

  // Copies the next `size` bytes to `to`, or skips them if `to` is null. False: fewer are left.
  bool Take(size_t size, char* to) {
    while (size > 0) {
      if (next_ == request_.chunks(input_)) return false;
      const Buffer chunk = request_.chunk(input_, next_);
      const size_t here = std::min(size, chunk.size - offset_);
      if (to && here > 0) {
        std::memcpy(to, static_cast<const char*>(chunk.data) + offset_, here);
        to += here;
      }
      size -= here;
      offset_ += here;
      if (offset_ == chunk.size) {
        next_++;
        offset_ = 0;
      }
    }
    return true;
  }

 private:
  const Request& request_;
  const InputTensor& input_;
  size_t next_ = 0;    // the current chunk
  size_t offset_ = 0;  // in the current chunk
};

// Walks the elements of a BYTES tensor. Returns the error that it finds, or "".
std::string WalkStrings(const Request& request, const InputTensor& input, uint64_t count) {
  size_t left = input.byte_size();
  // Each element takes at least kLengthBytes, so a wrong shape is found without a walk.
  if (count > left / kLengthBytes) {
    return "expected " + std::to_string(count) + " elements, each with a length prefix of " +
           std::to_string(kLengthBytes) + " bytes, but received " + std::to_string(left) + " bytes";
  }
  Reader reader(request, input);
  for (uint64_t i = 0; i < count; i++) {
    unsigned char digits[kLengthBytes];
    if (!reader.Take(kLengthBytes, reinterpret_cast<char*>(digits))) {
      return "expected " + std::to_string(count) + " elements but found " + std::to_string(i);
    }
    left -= kLengthBytes;
    const uint32_t length =
        static_cast<uint32_t>(digits[0]) | static_cast<uint32_t>(digits[1]) << 8 |
        static_cast<uint32_t>(digits[2]) << 16 | static_cast<uint32_t>(digits[3]) << 24;
    if (!reader.Take(length, nullptr)) {
      return "element " + std::to_string(i) + " has " + std::to_string(length) +
             " bytes, but only " + std::to_string(left) + " are left";
    }
    left -= length;
  }
  if (left > 0) {
    return std::to_string(left) + " bytes are left after " + std::to_string(count) + " elements";
  }
  return "";
}

// Checks that the first value of a shape tensor is the request's rows. Returns the error, or "".
std::string ComplaintOfValues(const Request& request, const InputTensor& input) {
  const uint32_t rows = request.header->batch_size;
  const std::string expected =
      "expected its first value to be " + std::to_string(rows) + ", the rows of the request, but ";
  const bool on_host = std::all_of(input.first_chunks.begin(), input.first_chunks.end(),
                                   [](const Buffer& chunk) { return IsHostMemory(chunk.kind); });
  if (!on_host) return expected + "its values are in device memory: pass them in host memory";
  std::vector<char> values(input.byte_size());
  if (values.empty()) return expected + "it has no values";
  if (!CopyShapeValues(request, input, values.data()))
    return "its values were released before they were read";
  const int64_t found = ShapeValueAt(values.data(), input.datatype, 0);
  return found == int64_t{rows} ? "" : expected + "received " + std::to_string(found);
}

std::string ComplaintOf(const ModelIo& io, const TensorSpec& spec, const Request& request,
                        const InputTensor& input) {
  const uint32_t rows = request.header->batch_size;
  if (input.datatype != spec.datatype) {
    return std::string("expected ") + Name(spec.datatype) + " but received " + Name(input.datatype);
  }
  const std::span<const int64_t> shape{input.shape.data(), input.shape.size()};
  bool fits = shape.size() == spec.dims.size();
  for (size_t i = 0; fits && i < shape.size(); i++) {
    fits = spec.dims[i] < 0 ? shape[i] >= 0 : shape[i] == spec.dims[i];
  }
  uint64_t count = 0;
  if (!fits || !CountElements(shape, &count)) {
    return "expected dims " + Text(spec.dims) + " but received shape " + Text(shape);
  }
  if (io.max_batch_size > 0 && !spec.rows_in_values && shape.front() != int64_t{rows}) {
    return "expected " + std::to_string(rows) + " rows, as the request has, but received shape " +
           Text(shape);
  }
  for (const Buffer& chunk : input.first_chunks) {
    if (chunk.size > 0 && !chunk.data)
      return "a chunk of " + std::to_string(chunk.size) + " bytes has no address";
  }
  const uint64_t bytes = input.byte_size();
  if (bytes > kMostTensorBytes) {
    return "expected at most " + std::to_string(kMostTensorBytes) + " bytes (4 GiB), but got " +
           std::to_string(bytes);
  }
  if (input.datatype != DataType::kBytes) {
    if (bytes == count * ByteSize(input.datatype))
      return spec.rows_in_values ? ComplaintOfValues(request, input) : "";
    return "expected " + std::to_string(count * ByteSize(input.datatype)) + " bytes for shape " +
           Text(shape) + " but received " + std::to_string(bytes);
  }
  const bool readable = std::all_of(input.first_chunks.begin(), input.first_chunks.end(),
                                    [](const Buffer& chunk) { return IsHostMemory(chunk.kind); });
  return readable ? WalkStrings(request, input, count) : "";
}

}  // namespace

Status CheckRequest(const std::string& model, const ModelIo& io, const Request& request) {
  const auto refuse = [&](const std::string& what) {
    return Status::InvalidArg("model '" + model + "'" + what);
  };
  const uint32_t rows = request.header->batch_size;
  if (io.max_batch_size > 0 && (rows == 0 || rows > io.max_batch_size)) {
    return refuse(": expected 1 to " + std::to_string(io.max_batch_size) +
                  " rows, its max_batch_size, but received " + std::to_string(rows));
  }
  const std::span<const InputTensor> inputs = request.inputs();
  for (size_t i = 0; i < inputs.size(); i++) {
    const uint32_t index = inputs[i].index;
    if (index >= io.inputs.size()) {
      return refuse(": unknown input " + std::to_string(index) + "; expected an index below " +
                    std::to_string(io.inputs.size()));
    }
    const TensorSpec& spec = io.inputs[index];
    if (spec.internal) {
      return refuse(", input '" + spec.name + "': the server sets it: leave it out of the request");
    }
    const bool twice = std::any_of(inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(i),
                                   [&](const InputTensor& one) { return one.index == index; });
    const std::string complaint =
        twice ? "it was passed twice" : ComplaintOf(io, spec, request, inputs[i]);
    if (!complaint.empty()) return refuse(", input '" + spec.name + "': " + complaint);
  }
  for (uint32_t i = 0; i < io.inputs.size(); i++) {
    if (!io.inputs[i].optional && !io.inputs[i].internal && !request.input(i)) {
      return refuse(", input '" + io.inputs[i].name + "': it is missing");
    }
  }
  for (const uint32_t output : request.header->wanted) {
    if (output < io.outputs.size() && !io.outputs[output].internal) continue;
    return refuse(": unknown output " + std::to_string(output) + "; expected an index below " +
                  std::to_string(io.outputs.size()));
  }
  return Status::Ok();
}

}  // namespace tritonts
