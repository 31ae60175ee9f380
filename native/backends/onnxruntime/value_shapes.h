// Finds the inputs and outputs of an ONNX file that are tensors without a shape, and so without a
// rank. Runtimes before API version 24 describe these like tensors of rank 0.
#pragma once

#include <istream>
#include <set>
#include <string>

namespace tritonts::onnxruntime {

// The names of the model's inputs and outputs whose type has no shape. It skips the weights. Empty
// if it is not an ONNX file. Any thread may call it.
std::set<std::string> UnshapedValues(std::istream& model);

}  // namespace tritonts::onnxruntime
