#include "type_model.h"

#include <cstdint>
#include <utility>

namespace tritonts::openvino {

namespace {

// ONNX's numbers of element types.
constexpr std::pair<DataType, uint64_t> kTypes[] = {
    {DataType::kFp32, 1},  {DataType::kUint8, 2}, {DataType::kInt8, 3},    {DataType::kUint16, 4},
    {DataType::kInt16, 5}, {DataType::kInt32, 6}, {DataType::kInt64, 7},   {DataType::kBool, 9},
    {DataType::kFp16, 10}, {DataType::kFp64, 11}, {DataType::kUint32, 12}, {DataType::kUint64, 13},
    {DataType::kBf16, 16},
};

// Protobuf's wire format: a message is the concatenation of its fields.
std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
std::string Number(uint32_t field, uint64_t value) {
  return Varint(field << 3) + Varint(value);
}
std::string Bytes(uint32_t field, const std::string& value) {
  return Varint(field << 3 | 2) + Varint(value.size()) + value;
}

// A ValueInfoProto: a name, and a tensor with one dim of size 1.
std::string Value(const std::string& name, uint64_t type) {
  const std::string shape = Bytes(2, Bytes(1, Number(1, 1)));
  return Bytes(1, name) + Bytes(2, Bytes(1, Number(1, type) + shape));
}

}  // namespace

std::string TypeModel() {
  std::string nodes;
  std::string values;
  for (const auto& [type, number] : kTypes) {
    const std::string name = Name(type);
    const std::string output = name + "_out";
    nodes += Bytes(1, Bytes(1, name) + Bytes(2, output) + Bytes(4, "Identity"));
    values += Bytes(11, Value(name, number)) + Bytes(12, Value(output, number));
  }
  // IR version 8, the graph, and opset 13.
  return Number(1, 8) + Bytes(7, nodes + Bytes(2, "types") + values) + Bytes(8, Number(2, 13));
}

DataType TypeOfInput(const std::string& name) {
  for (const auto& [type, number] : kTypes) {
    if (name == Name(type)) return type;
  }
  return DataType::kInvalid;
}

}  // namespace tritonts::openvino
