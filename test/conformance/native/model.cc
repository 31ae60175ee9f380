#include "model.h"

#include <cstring>

namespace tritonts::onnxruntime::bare {

namespace {

// The address of empty tensors, for which the runtime also needs one.
char no_bytes[1];

constexpr size_t kLengthBytes = sizeof(uint32_t);

// Values of a run, released together.
class Values {
 public:
  Values(const Table& table, size_t count) : table_(table), values_(count) {}
  ~Values() {
    for (OrtValue* value : values_) {
      if (value) table_.Call(kReleaseValue, value);
    }
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;

  OrtValue*& operator[](size_t index) { return values_[index]; }
  OrtValue** data() { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  const Table& table_;
  std::vector<OrtValue*> values_;
};

}  // namespace

Model::~Model() {
  if (session_) runtime_.table.Call(kReleaseSession, session_);
}

Status Model::Load(const std::filesystem::path& file) {
  const Table& api = runtime_.table;
  Handle<OrtSessionOptions, kReleaseSessionOptions> options(api);
  Status status = runtime_.Take(api.Call(kCreateSessionOptions, options.out()));
  if (status.ok()) {
    status = runtime_.Take(api.Call(kSetSessionLogSeverityLevel, options.get(), kLogFatal));
  }
  if (!status.ok()) return status;
  return runtime_.Take(
      api.Call(kCreateSession, runtime_.env, file.c_str(), options.get(), &session_));
}

StatusOr<std::vector<NamedTensor>> Model::Run(const std::vector<NamedTensor>& inputs) const {
  const Table& api = runtime_.table;
  std::vector<std::string> names;
  if (Status status = ReadOutputNames(&names); !status.ok()) return status;
  std::vector<const char*> output_names;
  for (const std::string& name : names) output_names.push_back(name.c_str());
  std::vector<const char*> input_names;
  Values input_values(api, inputs.size());
  for (size_t i = 0; i < inputs.size(); i++) {
    input_names.push_back(inputs[i].name.c_str());
    if (Status status = MakeValue(inputs[i], &input_values[i]); !status.ok()) return status;
  }
  Values output_values(api, names.size());
  Status status = runtime_.Take(api.Call(kRun, session_, nullptr, input_names.data(),
                                         input_values.data(), input_values.size(),
                                         output_names.data(), names.size(), output_values.data()));
  std::vector<NamedTensor> outputs(names.size());
  for (size_t i = 0; status.ok() && i < names.size(); i++) {
    outputs[i].name = names[i];
    status = ReadValue(output_values[i], &outputs[i]);
  }
  if (!status.ok()) return status;
  return outputs;
}

Status Model::ReadOutputNames(std::vector<std::string>* names) const {
  const Table& api = runtime_.table;
  size_t count = 0;
  Status status = runtime_.Take(api.Call(kSessionGetOutputCount, session_, &count));
  for (size_t i = 0; status.ok() && i < count; i++) {
    char* name = nullptr;
    status = runtime_.Take(api.Call(kSessionGetOutputName, session_, i, runtime_.allocator, &name));
    if (!status.ok()) break;
    names->emplace_back(name);
    status = runtime_.Take(api.Call(kAllocatorFree, runtime_.allocator, name));
  }
  return status;
}

Status Model::MakeValue(const NamedTensor& tensor, OrtValue** value) const {
  const Table& api = runtime_.table;
  const auto element = static_cast<ElementType>(tensor.element);
  const std::vector<int64_t>& shape = tensor.shape;
  const std::string& bytes = tensor.bytes;
  if (element == ElementType::kString) {
    Status status = runtime_.Take(
        api.Call(kCreateTensor, runtime_.allocator, shape.data(), shape.size(), element, value));
    return status.ok() ? FillStrings(bytes, CountElements(shape), *value) : status;
  }
  // The runtime doesn't write to inputs.
  void* data = bytes.empty() ? no_bytes : const_cast<char*>(bytes.data());
  return runtime_.Take(api.Call(kCreateTensorOver, runtime_.memory, data, bytes.size(),
                                shape.data(), shape.size(), element, value));
}

Status Model::FillStrings(const std::string& bytes, size_t count, OrtValue* value) const {
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    uint32_t length = 0;
    if (bytes.size() - at < kLengthBytes) return Status::Internal("strings are cut");
    std::memcpy(&length, bytes.data() + at, kLengthBytes);
    at += kLengthBytes;
    if (bytes.size() - at < length) return Status::Internal("strings are cut");
    char* text = nullptr;
    Status status =
        runtime_.Take(runtime_.table.Call(kResizeStringElement, value, i, length, &text));
    if (!status.ok()) return status;
    if (length > 0) std::memcpy(text, bytes.data() + at, length);
    at += length;
  }
  return Status::Ok();
}

Status Model::ReadValue(OrtValue* value, NamedTensor* tensor) const {
  const Table& api = runtime_.table;
  Handle<OrtTensorInfo, kReleaseTensorInfo> info(api);
  ElementType element = ElementType::kUndefined;
  size_t rank = 0;
  Status status = runtime_.Take(api.Call(kGetTensorInfo, value, info.out()));
  if (status.ok()) status = runtime_.Take(api.Call(kGetElementType, info.get(), &element));
  if (status.ok()) status = runtime_.Take(api.Call(kGetDimensionsCount, info.get(), &rank));
  if (!status.ok()) return status;
  tensor->element = static_cast<int32_t>(element);
  tensor->shape.resize(rank);
  status = runtime_.Take(api.Call(kGetDimensions, info.get(), tensor->shape.data(), rank));
  if (!status.ok()) return status;
  const size_t count = CountElements(tensor->shape);
  if (element == ElementType::kString) return ReadStrings(value, count, &tensor->bytes);
  void* data = nullptr;
  status = runtime_.Take(api.Call(kGetTensorData, value, &data));
  const size_t size = count * ElementSize(element);
  if (status.ok() && size > 0) tensor->bytes.assign(static_cast<const char*>(data), size);
  return status;
}

Status Model::ReadStrings(const OrtValue* value, size_t count, std::string* bytes) const {
  const Table& api = runtime_.table;
  size_t size = 0;
  Status status = runtime_.Take(api.Call(kGetStringsLength, value, &size));
  if (!status.ok() || count == 0) return status;
  std::string text(size + 1, '\0');  // Has an address, even if all strings are empty.
  std::vector<size_t> begins(count);
  status = runtime_.Take(api.Call(kGetStrings, value, text.data(), size, begins.data(), count));
  if (!status.ok()) return status;
  begins.push_back(size);
  for (size_t i = 0; i < count; i++) {
    const auto length = static_cast<uint32_t>(begins[i + 1] - begins[i]);
    bytes->append(reinterpret_cast<const char*>(&length), kLengthBytes);
    bytes->append(text, begins[i], length);
  }
  return Status::Ok();
}

}  // namespace tritonts::onnxruntime::bare
