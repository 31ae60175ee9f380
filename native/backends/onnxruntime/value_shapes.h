// Which inputs and outputs of an ONNX file are tensors without a shape, not even a rank: runtimes
// before API version 24 tell them like tensors of rank 0.
#pragma once

#include <istream>
#include <set>
#include <string>

namespace tritonts::onnxruntime {

// Names of the model's own inputs and outputs whose type has no shape. Reads little more than
// these, however large the weights are; the rest is skipped. Empty for what is no ONNX file.
std::set<std::string> UnshapedValues(std::istream& model);

}  // namespace tritonts::onnxruntime
