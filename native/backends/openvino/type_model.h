// A model with an input of each element type, in ONNX's form.
#pragma once

#include <string>

#include "engine/base/datatype.h"

namespace tritonts::openvino {

// The bytes of the model. Its inputs have the names of datatypes (Name), one for each that ONNX
// has. Throws std::bad_alloc.
std::string TypeModel();

// The datatype of an input by its name; kInvalid: no input has this name.
DataType TypeOfInput(const std::string& name);

}  // namespace tritonts::openvino
