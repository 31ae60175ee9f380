#include "operators.h"

#include <fstream>
#include <string_view>
#include <system_error>

namespace tritonts::openvino {

namespace {

// A run of a model with a larger file takes long anyway.
constexpr uintmax_t kMostBytes = uintmax_t{16} << 20;

constexpr std::string_view kVarying[] = {
    "Loop", "If", "Scan", "TensorIterator", "NonZero", "NonMaxSuppression", "Unique"};
constexpr std::string_view kState[] = {"ReadValue", "Assign"};

// The name as an operator of an IR file, such as type="Loop".
std::string InIr(std::string_view name) {
  return "type=\"" + std::string(name) + "\"";
}

// The name as an operator of an ONNX file: field 4 of a node, with its length.
std::string InOnnx(std::string_view name) {
  return std::string("\x22") + static_cast<char>(name.size()) + std::string(name);
}

}  // namespace

OperatorFacts ReadOperators(const std::filesystem::path& path) {
  OperatorFacts facts;
  const bool ir = path.extension() == ".xml";
  if (!ir && path.extension() != ".onnx") return facts;
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error || size > kMostBytes) return facts;
  std::string bytes(static_cast<size_t>(size), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(size))) return facts;
  facts.time_varies = false;
  for (const std::string_view name : kVarying) {
    if (bytes.find(ir ? InIr(name) : InOnnx(name)) != std::string::npos) facts.time_varies = true;
  }
  for (const std::string_view name : kState) {
    if (ir && bytes.find(InIr(name)) != std::string::npos) facts.keeps_state = name;
  }
  return facts;
}

}  // namespace tritonts::openvino
