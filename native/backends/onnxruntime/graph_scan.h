// Scans a model file for two facts that the runtime does not tell: whether the rows of a batch are
// kept, and whether the time of a run depends on the data. They follow from the operators, with
// those of nested graphs and of the model's own functions. If it is not sure, it assumes the worse.
//
// It reads the file once and skips the weights. It copes with any content.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tritonts::onnxruntime {

// The facts, as clauses for messages, such as "the model has the operator NonZero". Empty: it does
// not.
struct GraphFacts {
  // Why outputs may have another number of rows than inputs.
  std::string rows_vary;
  // Why the time of a run may depend on more than the shapes of its inputs.
  std::string time_varies;
};

// Both facts with the same reason.
GraphFacts UnknownGraph(const std::string& reason);

// Any thread may call these.
GraphFacts ScanGraph(const std::filesystem::path& file);
GraphFacts ScanGraph(std::string_view bytes);

}  // namespace tritonts::onnxruntime
