// Files of tensors, as test/conformance/export.py writes them: the number of tensors, then for each
// its name, ONNX's number of its element type, its shape and its bytes. All numbers are
// little-endian; each string is preceded by its length.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/status.h"

namespace tritonts::onnxruntime::bare {

struct NamedTensor {
  std::string name;
  int32_t element = 0;
  std::vector<int64_t> shape;
  std::string bytes;
};

// INTERNAL for a file that is missing or ends too early.
StatusOr<std::vector<NamedTensor>> ReadTensors(const std::filesystem::path& file);

Status WriteTensors(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors);

}  // namespace tritonts::onnxruntime::bare
