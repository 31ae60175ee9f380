#include "graph_spec.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

namespace tritonts::tensorrt {

namespace {

// Small batches gain most from graphs.
constexpr uint32_t kUsualRows[] = {2, 3, 4, 6, 8, 12, 16};

bool ReadDims(const std::string& text, std::vector<int64_t>* dims) {
  if (text == "-") return true;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const char* const end = part.data() + part.size();
    const auto [next, error] = std::from_chars(part.data(), end, dims->emplace_back());
    if (error != std::errc() || next != end) return false;
  }
  return true;
}

Status CheckSpec(const GraphSpec& spec, const ModelIo& io) {
  const auto rows_fit = [&](int64_t rows) {
    return io.max_batch_size == 0 ? rows == 0 : rows >= 1 && rows <= io.max_batch_size;
  };
  const std::string expected = io.max_batch_size == 0
                                   ? "expected 0, because the model has no batches"
                                   : "expected 1 to " + std::to_string(io.max_batch_size);
  for (const auto& [rows, where] : {std::pair{spec.rows, ".batch_size"},
                                    std::pair{spec.least_rows, ".graph_lower_bound.batch_size"}}) {
    if (rows_fit(rows)) continue;
    return Status::InvalidArg(spec.path + where + ": " + expected + " but received " +
                              std::to_string(rows));
  }
  if (spec.least_rows > spec.rows)
    return Status::InvalidArg(
        spec.path + ".graph_lower_bound.batch_size: expected at most " + std::to_string(spec.rows) +
        ", the batch_size of the graph, but received " + std::to_string(spec.least_rows));
  for (const auto& [name, range] : spec.inputs) {
    if (std::none_of(io.inputs.begin(), io.inputs.end(),
                     [&, &name = name](const TensorSpec& input) { return input.name == name; }))
      return Status::InvalidArg(spec.path + ".input: the model has no input '" + name + "'");
    bool ordered = range.least.size() == range.most.size();
    for (size_t i = 0; ordered && i < range.most.size(); i++)
      ordered = range.least[i] <= range.most[i];
    if (!ordered)
      return Status::InvalidArg(spec.path + ".graph_lower_bound.input['" + name +
                                "']: expected as many dims as the graph has, and none above them");
  }
  return Status::Ok();
}

}  // namespace

bool ReadGraphSpecs(const std::string& text, std::vector<GraphSpec>* specs) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind, dims, least, name;
    words >> kind;
    if (kind == "graph") {
      GraphSpec& spec = specs->emplace_back();
      if (!(words >> spec.rows >> spec.least_rows)) return false;
      spec.path = "optimization.cuda.graph_spec[" + std::to_string(specs->size() - 1) + "]";
    } else if (kind == "input" && !specs->empty() && words >> dims >> least && words.get() == ' ') {
      std::getline(words, name);
      GraphSpec::Range& range = specs->back().inputs[name];
      if (!ReadDims(dims, &range.most) || !ReadDims(least, &range.least)) return false;
    } else {
      return false;
    }
  }
  return true;
}

StatusOr<std::vector<GraphSpec>> ResolveGraphs(const GraphSettings& settings, const ModelIo& io) {
  for (const GraphSpec& spec : settings.specs)
    if (Status status = CheckSpec(spec, io); !status.ok()) return status;
  if (!settings.specs.empty()) return settings.specs;
  const uint32_t most = io.max_batch_size;
  std::set<uint32_t> sizes{std::min(most, 1u), most};
  if (settings.preferred_rows.empty()) {
    sizes.insert(std::begin(kUsualRows), std::end(kUsualRows));
  } else {
    sizes.insert(settings.preferred_rows.begin(), settings.preferred_rows.end());
  }
  std::vector<GraphSpec> specs;
  for (const uint32_t rows : sizes)
    if (rows <= most) specs.push_back({rows, rows, {}, ""});
  return specs;
}

}  // namespace tritonts::tensorrt
