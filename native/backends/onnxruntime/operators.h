// Facts about ONNX operators, by name. Thread-safe.
#pragma once

#include <string_view>

namespace tritonts::onnxruntime {

struct OperatorTraits {
  bool known = true;
  // The number of output rows may depend on the values of the inputs, and not only on their shapes.
  bool rows_vary = false;
  // The time may depend on the values of the inputs.
  bool time_varies = false;
};

// The traits of an operator. The `domain` "" is ONNX's own. For an operator of an unknown domain,
// the worst is assumed.
OperatorTraits TraitsOf(std::string_view domain, std::string_view name);

}  // namespace tritonts::onnxruntime
