// What plans of the fake TensorRT compute:
//
//   add       y is the sum of the inputs plus one, in FP32 or whole numbers
//   profile   y is x plus the number of the profile that was chosen
//   copy      the i-th output has the bytes of the i-th input
//   matmul    y [n,m] is x [n,k] times `weights` [k,m]
//   positive  y [-1,...] has the rows of x whose first element is above 0; the number depends on
//             data
//   fill      y has the dims that the shape tensor `s` says, and x's first element everywhere
//   expand    the same dims, but each row has the first element of that row of x
//   shape     y, in host memory, has the dims of x; the first one has `weights` added
//   fail      a batch cannot be enqueued
//   nocontext there is no memory for a context
#include <cstring>
#include <functional>

#include "nvinfer.h"

namespace tritonts::fakes::infer {

namespace {

struct Bound {
  const Tensor* tensor;
  Dims dims;
  size_t count;
  void* memory;  // the memory that a kernel accesses
};

size_t CountOf(const Dims& dims) {
  size_t count = 1;
  for (int i = 0; i < dims.count; i++) count *= static_cast<size_t>(dims.d[i]);
  return count;
}

bool IsDynamic(const Dims& dims) {
  for (int i = 0; i < dims.count; i++)
    if (dims.d[i] < 0) return true;
  return false;
}

template <typename Number>
void AddAs(const std::vector<Bound>& inputs, const Bound& output) {
  for (size_t i = 0; i < output.count; i++) {
    Number sum = 1;
    for (const Bound& input : inputs)
      sum = static_cast<Number>(sum + static_cast<const Number*>(input.memory)[i]);
    static_cast<Number*>(output.memory)[i] = sum;
  }
}

void Add(const std::vector<Bound>& inputs, const Bound& output) {
  switch (output.tensor->type) {
    case kFloat:
      return AddAs<float>(inputs, output);
    case kInt8:
      return AddAs<int8_t>(inputs, output);
    case kUint8:
      return AddAs<uint8_t>(inputs, output);
    case kInt32:
      return AddAs<int32_t>(inputs, output);
    case kInt64:
      return AddAs<int64_t>(inputs, output);
    default:
      Die("add has no numbers of this type");
  }
}

void Multiply(const Bound& x, const Bound& y, const std::vector<float>& weights) {
  const auto* const from = static_cast<const float*>(x.memory);
  auto* const to = static_cast<float*>(y.memory);
  const auto inner = static_cast<size_t>(x.dims.d[1]);
  const auto columns = static_cast<size_t>(y.dims.d[1]);
  for (size_t row = 0; row < static_cast<size_t>(y.dims.d[0]); row++) {
    for (size_t column = 0; column < columns; column++) {
      float sum = 0;
      for (size_t k = 0; k < inner; k++)
        sum += from[row * inner + k] * weights[k * columns + column];
      to[row * columns + column] = sum;
    }
  }
}

// Calls the caller's allocator for an output: it returns the address, and is told the shape.
class Allocator {
 public:
  explicit Allocator(void* object) : object_(object), table_(*static_cast<void***>(object)) {
    if (reinterpret_cast<int (*)(void*)>(table_[0])(object_) != 0)
      Die("the allocator is none of C++");
  }
  uint64_t Allocate(const char* name, size_t size, void* stream) const {
    using Function = uint64_t (*)(void*, const char*, void*, uint64_t, uint64_t, void*);
    return reinterpret_cast<Function>(table_[5])(object_, name, nullptr, size, 256, stream);
  }
  void Tell(const char* name, const Dims& dims) const {
    reinterpret_cast<void (*)(void*, const char*, const Dims*)>(table_[6])(object_, name, &dims);
  }

 private:
  void* const object_;
  void** const table_;
};

void* ShadowOf(uint64_t address, size_t bytes) {
  return Driver<void*(uint64_t, size_t)>("fakeCudaShadow")(address, bytes);
}

bool Launch(void* stream, const std::function<void()>& kernel) {
  return Driver<int(void*, const std::function<void()>*)>("fakeCudaLaunch")(stream, &kernel) == 0;
}

// Like the real library, it waits for the stream, because it needs the data.
bool Positive(Context* self, const Bound& x, const Tensor& y, void* stream) {
  const auto allocator = self->allocators.find(y.name);
  if (allocator == self->allocators.end() || !allocator->second) {
    Log(self->logger, 1, "an output whose shape depends on data has no allocator");
    return false;
  }
  if (Driver<int(void*)>("cuStreamSynchronize")(stream) != 0) return false;
  const auto* const values = static_cast<const float*>(x.memory);
  const size_t rows = static_cast<size_t>(x.dims.d[0]);
  const size_t width = rows == 0 ? 0 : x.count / rows;
  std::vector<float> found;
  Dims dims = x.dims;
  dims.d[0] = 0;
  for (size_t row = 0; row < rows; row++) {
    if (values[row * width] <= 0) continue;
    found.insert(found.end(), values + row * width, values + (row + 1) * width);
    dims.d[0]++;
  }
  const Allocator caller(allocator->second);
  const size_t bytes = found.size() * sizeof(float);
  const uint64_t address = caller.Allocate(y.name.c_str(), bytes, stream);
  caller.Tell(y.name.c_str(), dims);
  if (address == 0) {
    Log(self->logger, 1, "the allocator of an output has no memory");
    return false;
  }
  void* const memory = bytes > 0 ? ShadowOf(address, bytes) : nullptr;
  return Launch(stream, [=] {
    if (bytes > 0) std::memcpy(memory, found.data(), bytes);
  });
}

// Runs `work` on the stream. Meanwhile the context's device memory is marked as used, and any other
// use ends the process.
bool Run(Context* self, void* stream, std::function<void()> work) {
  auto* const mark =
      self->owns_memory ? nullptr : static_cast<char*>(ShadowOf(self->memory, self->memory_size));
  // Recorded work runs later, and possibly several times.
  std::shared_ptr<std::atomic<int>> running;
  if (!Driver<bool(void*)>("fakeCudaRecords")(stream)) running = self->running;
  if (running) ++*running;
  const bool launched = Launch(stream, [self, mark, running, work = std::move(work)] {
    if (mark) std::memcpy(mark, &self, sizeof(self));
    work();
    if (mark && std::memcmp(mark, &self, sizeof(self)) != 0)
      Die("two contexts used the same device memory at once");
    if (running) --*running;
  });
  if (running && !launched) --*running;
  return launched;
}

}  // namespace

Dims ValuesOf(Context* self, const Tensor& tensor) {
  Dims values;
  values.count = static_cast<int32_t>(self->shapes[tensor.name].d[0]);
  for (int i = 0; i < values.count; i++) {
    const uint64_t at = self->addresses[tensor.name];
    values.d[i] = tensor.type == kInt64 ? reinterpret_cast<const int64_t*>(at)[i]
                                        : reinterpret_cast<const int32_t*>(at)[i];
  }
  return values;
}

Dims OutputShape(Context* self, const Tensor& tensor) {
  Dims dims = tensor.dims;
  const std::string& op = self->plan->op;
  if (op == "positive") return dims;
  if (op == "fill" || op == "expand") return ValuesOf(self, self->plan->Find("s"));
  const Tensor* like = nullptr;  // the input with the same index
  size_t position = 0;
  for (const Tensor& one : self->plan->tensors) {
    if (&one == &tensor) break;
    if (!one.input) position++;
  }
  for (const Tensor& one : self->plan->tensors) {
    if (!one.input) continue;
    if (!like || op == "copy") like = &one;
    if (op != "copy" || position-- == 0) break;
  }
  for (int i = 0; i < dims.count; i++)
    if (dims.d[i] < 0) dims.d[i] = self->shapes[like->name].d[i];
  return dims;
}

bool Compute(Context* self, void* stream) {
  const std::string& op = self->plan->op;
  std::vector<Bound> inputs;
  std::vector<Bound> outputs;
  for (const Tensor& tensor : self->plan->tensors) {
    const Dims dims = tensor.input ? self->shapes[tensor.name] : OutputShape(self, tensor);
    if (!tensor.input && op == "positive") return Positive(self, inputs.at(0), tensor, stream);
    if (IsDynamic(dims)) Die("the shape of " + tensor.name + " is not set");
    if (!self->addresses.contains(tensor.name)) Die("no address for " + tensor.name);
    const size_t count = CountOf(dims);
    const uint64_t address = self->addresses[tensor.name];
    void* const memory = tensor.host ? reinterpret_cast<void*>(address)
                                     : ShadowOf(address, count * SizeOf(tensor.type));
    (tensor.input ? inputs : outputs).push_back({&tensor, dims, count, memory});
  }
  return Run(self, stream, [=, weights = self->plan->weights, profile = self->profile] {
    if (op == "add") Add(inputs, outputs.at(0));
    if (op == "profile") {
      for (size_t i = 0; i < outputs.at(0).count; i++)
        static_cast<float*>(outputs[0].memory)[i] =
            static_cast<const float*>(inputs.at(0).memory)[i] + static_cast<float>(profile);
    }
    if (op == "matmul") Multiply(inputs.at(0), outputs.at(0), weights);
    if (op == "fill") {
      const float value = *static_cast<const float*>(inputs.at(0).memory);
      for (size_t i = 0; i < outputs[0].count; i++)
        static_cast<float*>(outputs[0].memory)[i] = value;
    }
    if (op == "expand") {
      const auto rows = static_cast<size_t>(outputs.at(0).dims.d[0]);
      const size_t from = inputs.at(0).count / rows;
      const size_t to = outputs[0].count / rows;
      for (size_t i = 0; i < outputs[0].count; i++)
        static_cast<float*>(outputs[0].memory)[i] =
            static_cast<const float*>(inputs[0].memory)[i / to * from];
    }
    if (op == "shape") {
      for (size_t i = 0; i < outputs.at(0).count; i++)
        static_cast<int32_t*>(outputs[0].memory)[i] = static_cast<int32_t>(inputs[0].dims.d[i]);
      for (const float weight : weights)
        *static_cast<int32_t*>(outputs[0].memory) += static_cast<int32_t>(weight);
    }
    for (size_t i = 0; op == "copy" && i < outputs.size(); i++)
      std::memcpy(outputs[i].memory, inputs[i].memory,
                  outputs[i].count * SizeOf(outputs[i].tensor->type));
  });
}

}  // namespace tritonts::fakes::infer
