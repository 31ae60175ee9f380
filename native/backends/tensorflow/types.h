// TensorFlow's data types, by their numbers.
#pragma once

#include <string>

#include "engine/base/datatype.h"

namespace tritonts::tensorflow {

// The number of resources, such as variables, which have no values.
constexpr int kTfResource = 20;

// kInvalid: Triton has no such type.
DataType TypeOf(int number);
// -1: TensorFlow has no such type.
int NumberOf(DataType type);
// TensorFlow's name, such as DT_FLOAT.
std::string TypeName(int number);

}  // namespace tritonts::tensorflow
