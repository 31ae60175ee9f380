// Looks through a model file's operators, those of nested graphs and of the model's own functions
// included, for what the runtime does not tell: whether they keep the rows of a batch, and whether
// they take a time that depends on data. What it is not sure of it takes for the worse.
//
// It reads the file once, without the bytes of weights, and works on whatever the file holds.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tritonts::onnxruntime {

// Clauses for people, such as "the model has the operator NonZero"; empty: no.
struct GraphFacts {
  // Why the number of rows that come out is not known to be that of the rows that go in.
  std::string rows_vary;
  // Why a run's time is not known by the shapes of its inputs.
  std::string time_varies;
};

// All that can't be known for the same reason.
GraphFacts UnknownGraph(const std::string& reason);

// Any thread.
GraphFacts ScanGraph(const std::filesystem::path& file);
GraphFacts ScanGraph(std::string_view bytes);

}  // namespace tritonts::onnxruntime
