// Writes small graphs of TensorFlow (GraphDef), so that tests of the tensorflow backend need no
// files. Comments name the fields whose numbers are written.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "onnx_bytes.h"

namespace tritonts::test {

// The numbers of DataType that the tests use.
enum TfType : int32_t { kTfFloat = 1, kTfInt32 = 3, kTfText = 7, kTfHandle = 20 };

// A TensorShapeProto.
inline std::string TfShape(const std::vector<int64_t>& dims) {
  std::string shape;
  for (const int64_t dim : dims) shape += Bytes(2, Number(1, dim));  // dim {size}
  return shape;
}

// Entries of NodeDef.attr.
inline std::string TfAttribute(const std::string& name, const std::string& value) {
  return Bytes(5, Bytes(1, name) + Bytes(2, value));
}
inline std::string TypeOfTf(const std::string& name, TfType type) {
  return TfAttribute(name, Number(6, type));
}
inline std::string ShapeOfTf(const std::vector<int64_t>& dims) {
  return TfAttribute("shape", Bytes(7, TfShape(dims)));
}

class TfGraphWriter {
 public:
  TfGraphWriter& Node(const std::string& name, const std::string& op,
                      const std::vector<std::string>& inputs, const std::string& attributes = "") {
    std::string node = Bytes(1, name) + Bytes(2, op);
    for (const std::string& input : inputs) node += Bytes(3, input);
    graph_ += Bytes(1, node + attributes);
    return *this;
  }
  TfGraphWriter& Placeholder(const std::string& name, TfType type,
                             const std::vector<int64_t>& dims) {
    return Node(name, "Placeholder", {}, TypeOfTf("dtype", type) + ShapeOfTf(dims));
  }
  TfGraphWriter& Constant(const std::string& name, TfType type, const std::vector<int64_t>& dims,
                          const std::string& content) {
    // A TensorProto: dtype, tensor_shape, tensor_content.
    const std::string tensor = Number(1, type) + Bytes(2, TfShape(dims)) + Bytes(4, content);
    return Node(name, "Const", {},
                TypeOfTf("dtype", type) + TfAttribute("value", Bytes(8, tensor)));
  }
  // A variable with the operations that read and initialise it.
  TfGraphWriter& Variable(const std::string& name, const std::vector<int64_t>& dims,
                          const std::string& content) {
    const std::string type = TypeOfTf("dtype", kTfFloat);
    return Node(name, "VarHandleOp", {},
                type + ShapeOfTf(dims) + TfAttribute("shared_name", Bytes(2, name)))
        .Constant(name + "/first", kTfFloat, dims, content)
        .Node(name + "/init", "AssignVariableOp", {name, name + "/first"}, type)
        .Node(name + "/read", "ReadVariableOp", {name}, type);
  }

  const std::string& Graph() const { return graph_; }

 private:
  std::string graph_;
};

}  // namespace tritonts::test
