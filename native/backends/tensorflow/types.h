// TensorFlow's data types, by their numbers.
#pragma once

#include <string>

#include "engine/base/datatype.h"

namespace tritonts::tensorflow {

constexpr int kTfString = 7;

// kInvalid: Triton has no such type.
DataType TypeOf(int number);
// TensorFlow's name, such as DT_FLOAT.
std::string TypeName(int number);

}  // namespace tritonts::tensorflow
