// The plans of the fake TensorRT. A plan is text:
//
//   fake-plan 10 [compatible [without-lean]]   the major version for which it was built, or `rtx`
//   op add                      its computation; see nvinfer_compute.cc
//   weights 1 2 3
//   plugin Name                 it needs the plugin with this name
//   memory 4096                 device memory that a context needs
//   input x 0 0 0 -1 16         name, type, location (1: host), format, dims
//   output y 0 0 0 -1 16
//   profile x 1 16 4 16 8 16    name; minimum, optimal and maximum dims. The second line of a
//                               name is the second profile
//   values s 1 2 3              the same for the values of a shape tensor
//   rows s                      the first value of this shape tensor must be the number of rows of
//                               all other inputs
#include <sstream>

#include "nvinfer.h"

namespace tritonts::fakes::infer {

namespace {

Dims ReadDims(std::istream& line, int count) {
  Dims dims;
  dims.count = 0;
  while (dims.count < (count < 0 ? 8 : count) && line >> dims.d[dims.count]) dims.count++;
  return dims;
}

Tensor ReadTensor(std::istream& line, const std::string& name, bool input) {
  Tensor tensor;
  tensor.name = name;
  tensor.input = input;
  line >> tensor.type >> tensor.host >> tensor.format;
  tensor.dims = ReadDims(line, -1);
  return tensor;
}

}  // namespace

size_t SizeOf(int32_t type) {
  switch (type) {
    case kFloat:
    case kInt32:
      return 4;
    case kHalf:
    case kBf16:
      return 2;
    case kInt64:
      return 8;
    default:
      return 1;
  }
}

const Tensor& Plan::Find(const char* name) const {
  for (const Tensor& tensor : tensors)
    if (tensor.name == name) return tensor;
  Die(std::string("no tensor ") + name);
}

std::shared_ptr<const Plan> ReadPlan(const std::string& text) {
  std::istringstream lines(text);
  std::string line, word, major;
  if (!std::getline(lines, line)) return nullptr;
  std::istringstream first(line);
  first >> word >> major;
  if (word != "fake-plan") return nullptr;
  auto plan = std::make_shared<Plan>();
  plan->major = major == "rtx" ? 1 : std::atoi(major.c_str());
  plan->compatible = static_cast<bool>(first >> word);
  plan->without_lean = static_cast<bool>(first >> word);
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind;
    if (kind == "memory") {
      words >> plan->memory;
      continue;
    }
    if (kind == "weights") {
      for (float weight = 0; words >> weight;) plan->weights.push_back(weight);
      continue;
    }
    words >> name;
    if (kind == "op") plan->op = name;
    if (kind == "plugin") plan->plugin = name;
    if (kind == "rows") plan->rows = name;
    if (kind == "input" || kind == "output")
      plan->tensors.push_back(ReadTensor(words, name, kind == "input"));
    if (kind != "profile" && kind != "values") continue;
    for (Tensor& tensor : plan->tensors) {
      if (tensor.name != name) continue;
      auto& all = kind == "profile" ? tensor.profiles : tensor.values;
      const int count = kind == "profile" ? tensor.dims.count : static_cast<int>(tensor.dims.d[0]);
      all.emplace_back();
      for (Dims& dims : all.back()) dims = ReadDims(words, count);
      plan->profiles = std::max(plan->profiles, static_cast<int32_t>(all.size()));
    }
  }
  return plan;
}

}  // namespace tritonts::fakes::infer
