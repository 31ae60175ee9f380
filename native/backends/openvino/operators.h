// What the operators of a model's file say about its runs. OpenVINO's C interface does not list
// operators, so their names are searched for in the file.
#pragma once

#include <filesystem>
#include <string>

namespace tritonts::openvino {

struct OperatorFacts {
  // Whether the time of a run may depend on the data: the model has loops, branches or outputs
  // whose size depends on values, or its file does not tell.
  bool time_varies = true;
  // The operator that keeps state between runs; "": none was found.
  std::string keeps_state;
};

// Reads the model's file. Throws std::bad_alloc.
OperatorFacts ReadOperators(const std::filesystem::path& path);

}  // namespace tritonts::openvino
