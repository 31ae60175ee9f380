// Scans a model file for two facts that the runtime does not report: whether a batch's number of
// rows may change, and whether the time of a run depends on the data. They follow from the
// operators, including those of nested graphs and of the model's own functions. In doubt it assumes
// the worse.
//
// It reads the file once and skips the weights. Malformed content is harmless.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tritonts::onnxruntime {

// The facts, as clauses for messages, such as "the model has the operator NonZero". Empty: the fact
// does not hold.
struct GraphFacts {
  // Why outputs may have a different number of rows than the inputs.
  std::string rows_vary;
  // Why the time of a run may depend on more than the shapes of its inputs.
  std::string time_varies;
};

// Both facts with the same reason.
GraphFacts UnknownGraph(const std::string& reason);

// Thread-safe.
GraphFacts ScanGraph(const std::filesystem::path& file);
GraphFacts ScanGraph(std::string_view bytes);

}  // namespace tritonts::onnxruntime
