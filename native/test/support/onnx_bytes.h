// Writes small ONNX models, so that tests of the onnxruntime backend need no files. A model is a
// protobuf message. Comments name the fields whose numbers are written.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tritonts::test {

// Protobuf's wire format: a message is the concatenation of its fields.
inline std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string Number(uint32_t field, int64_t value) {
  return Varint(field << 3) + Varint(static_cast<uint64_t>(value));
}
inline std::string Bytes(uint32_t field, const std::string& value) {
  return Varint(field << 3 | 2) + Varint(value.size()) + value;
}

// The numbers of TensorProto.DataType that the tests use.
enum OnnxType : int32_t {
  kOnnxFloat = 1,
  kOnnxUint8 = 2,
  kOnnxInt32 = 6,
  kOnnxInt64 = 7,
  kOnnxString = 8,
  kOnnxBool = 9,
  kOnnxFloat16 = 10,
  kOnnxComplex64 = 14,
  kOnnxBfloat16 = 16,
  kOnnxFloat8 = 17,
};

// TypeProtos: a tensor of unknown shape, a tensor whose negative dims are symbols (equal numbers
// are equal symbols), a sequence of tensors.
inline std::string UnshapedTensor(OnnxType type) {
  return Bytes(1, Number(1, type));
}
inline std::string Tensor(OnnxType type, const std::vector<int64_t>& dims) {
  std::string shape;
  for (const int64_t dim : dims) {
    shape += Bytes(1, dim >= 0 ? Number(1, dim)                          // dim_value
                               : Bytes(2, "d" + std::to_string(-dim)));  // dim_param
  }
  return Bytes(1, Number(1, type) + Bytes(2, shape));  // tensor_type {elem_type, shape}
}
inline std::string Sequence(OnnxType type) {
  return Bytes(4, Bytes(1, UnshapedTensor(type)));
}

// AttributeProtos.
inline std::string IntAttribute(const std::string& name, int64_t value) {
  return Bytes(1, name) + Number(3, value) + Number(20, 2);
}
inline std::string GraphAttribute(const std::string& name, const std::string& graph) {
  return Bytes(1, name) + Bytes(6, graph) + Number(20, 5);
}

// Builds a model; the order of calls is the order in the file.
class OnnxModelWriter {
 public:
  OnnxModelWriter& Input(const std::string& name, const std::string& type) {
    graph_ += Bytes(11, Bytes(1, name) + Bytes(2, type));
    return *this;
  }
  OnnxModelWriter& Output(const std::string& name, const std::string& type) {
    graph_ += Bytes(12, Bytes(1, name) + Bytes(2, type));
    return *this;
  }
  // Adds a constant. If an input has the same name, the constant is its default. `raw` has
  // little-endian values.
  OnnxModelWriter& Initializer(const std::string& name, OnnxType type,
                               const std::vector<int64_t>& dims, const std::string& raw) {
    std::string tensor;
    for (const int64_t dim : dims) tensor += Number(1, dim);
    graph_ += Bytes(5, tensor + Number(2, type) + Bytes(8, name) + Bytes(9, raw));
    return *this;
  }
  OnnxModelWriter& Node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs,
                        const std::vector<std::string>& attributes = {},
                        const std::string& domain = "") {
    std::string node;
    for (const auto& name : inputs) node += Bytes(1, name);
    for (const auto& name : outputs) node += Bytes(2, name);
    node += Bytes(4, op);
    for (const auto& attribute : attributes) node += Bytes(5, attribute);
    if (!domain.empty()) node += Bytes(7, domain);
    nodes_.push_back(node);
    graph_ += Bytes(1, node);
    return *this;
  }
  // Adds a function to the model, with the nodes of the writer `body`, and its domain.
  OnnxModelWriter& Function(const std::string& domain, const std::string& name,
                            const std::vector<std::string>& inputs,
                            const std::vector<std::string>& outputs, const OnnxModelWriter& body) {
    std::string function = Bytes(1, name);
    for (const auto& input : inputs) function += Bytes(4, input);
    for (const auto& output : outputs) function += Bytes(5, output);
    for (const auto& node : body.nodes_) function += Bytes(7, node);
    function += Bytes(9, Bytes(1, "") + Number(2, 13)) + Bytes(10, domain);
    rest_ += Bytes(25, function) + Bytes(8, Bytes(1, domain) + Number(2, 1));
    return *this;
  }
  // The GraphProto, for nodes with a graph attribute.
  std::string Graph() const { return graph_ + Bytes(2, "g"); }
  // The ModelProto: ir_version, graph, opset_import.
  std::string Model() const {
    return Number(1, 8) + Bytes(7, Graph()) + Bytes(8, Bytes(1, "") + Number(2, 13)) + rest_;
  }

 private:
  std::vector<std::string> nodes_;
  std::string rest_;   // more fields of the ModelProto
  std::string graph_;  // a GraphProto without its name
};

}  // namespace tritonts::test
