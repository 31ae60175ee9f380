// What is known of ONNX's operators, by their names.
#pragma once

#include <string_view>

namespace tritonts::onnxruntime {

struct OperatorTraits {
  bool known = true;
  // How many rows come out may depend on the values that go in, not on their shapes alone.
  bool rows_vary = false;
  // So may the time it takes, beyond what shapes allow for.
  bool time_varies = false;
};

// `domain`: "" is ONNX's own. An operator of a domain that nobody knows is not known; neither are
// its rows and its time.
OperatorTraits TraitsOf(std::string_view domain, std::string_view name);

}  // namespace tritonts::onnxruntime
