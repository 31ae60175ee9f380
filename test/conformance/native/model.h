// A model in the bare runtime.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime.h"
#include "tensor_file.h"

namespace tritonts::onnxruntime::bare {

// Not thread-safe. The runtime must outlive the model.
class Model {
 public:
  explicit Model(const Runtime& runtime) : runtime_(runtime) {}
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // Must be called once, before all other functions.
  Status Load(const std::filesystem::path& file);

  // All outputs, in the model's order.
  StatusOr<std::vector<NamedTensor>> Run(const std::vector<NamedTensor>& inputs) const;

 private:
  Status ReadOutputNames(std::vector<std::string>* names) const;
  // The value borrows the tensor's bytes, except for strings, which are copied.
  Status MakeValue(const NamedTensor& tensor, OrtValue** value) const;
  Status FillStrings(const std::string& bytes, size_t count, OrtValue* value) const;
  Status ReadValue(OrtValue* value, NamedTensor* tensor) const;
  Status ReadStrings(const OrtValue* value, size_t count, std::string* bytes) const;

  const Runtime& runtime_;
  OrtSession* session_ = nullptr;
};

}  // namespace tritonts::onnxruntime::bare
