#include "plan.h"

#include <algorithm>
#include <utility>

#include "naming.h"

namespace tritonts::pytorch {

namespace {

constexpr std::pair<DataType, int32_t> kTypes[] = {
    {DataType::kBool, kTorchBool},   {DataType::kUint8, kTorchUint8},
    {DataType::kInt8, kTorchInt8},   {DataType::kInt16, kTorchInt16},
    {DataType::kInt32, kTorchInt32}, {DataType::kInt64, kTorchInt64},
    {DataType::kFp16, kTorchFp16},   {DataType::kFp32, kTorchFp32},
    {DataType::kFp64, kTorchFp64},   {DataType::kBf16, kTorchBf16},
};

Status CheckTensor(const TensorSpec& tensor, const char* side, const std::string& model) {
  if (tensor.datatype == DataType::kBytes) {
    if (tensor.dims.size() <= 1) return Status::Ok();
    return Status::Internal("Triton only supports 1 dimensional List of String as " +
                            std::string(side) + " for '" + tensor.name + "' for model '" + model +
                            "': with max_batch_size, write dims: [ 1 ] reshape: { shape: [ ] }");
  }
  if (TorchTypeOf(tensor.datatype) != kTorchOtherType) return Status::Ok();
  return Status::Internal("unsupported datatype TYPE_" + std::string(Name(tensor.datatype)) +
                          " for " + side + " '" + tensor.name + "' for model '" + model + "'");
}

Status CheckArgument(const TorchArgument& argument, uint32_t count) {
  if (argument.kind == kTorchTensor || argument.kind == kTorchStrings) return Status::Ok();
  if (argument.kind == kTorchTensorMap && count == 1) return Status::Ok();
  if (argument.kind == kTorchTensorMap) {
    return Status::Internal(
        "forward has an argument of type Dict[str, Tensor] ('" + std::string(argument.name) +
        "') among others. Only a single input of type Dict(str, Tensor) is supported");
  }
  return Status::Internal("An input of type '" + std::string(argument.type) +
                          "' was detected in the model, forward's argument '" + argument.name +
                          "'. Only a single input of type Dict(str, Tensor), or inputs of type "
                          "Tensor or List[str] are supported");
}

// Whether the type that the configuration gives an input is that of the argument.
Status CheckType(const TensorSpec& input, const TorchArgument& argument, bool is_map) {
  const bool has_text = input.datatype == DataType::kBytes;
  if (has_text == (argument.kind == kTorchStrings)) return Status::Ok();
  const std::string expected = argument.kind == kTorchStrings ? "TYPE_STRING" : "a type of numbers";
  return Status::InvalidArg(
      "input '" + input.name + "': expected " + expected + ", because " +
      (is_map ? "the entries of forward's argument '" : "forward's argument '") + argument.name +
      (is_map ? "' are of type " : "' is of type ") + (is_map ? "Tensor" : argument.type) +
      ", but the configuration has " +
      (has_text ? "TYPE_STRING" : "TYPE_" + std::string(Name(input.datatype))));
}

}  // namespace

int32_t TorchTypeOf(DataType datatype) {
  for (const auto& [own, torch] : kTypes) {
    if (own == datatype) return torch;
  }
  return kTorchOtherType;
}

DataType DataTypeOf(int32_t type) {
  for (const auto& [own, torch] : kTypes) {
    if (torch == type) return own;
  }
  return DataType::kInvalid;
}

StatusOr<Plan> MakePlan(const Library& library, const TorchModule* module, const std::string& model,
                        const ModelIo& io) {
  const TorchApi& api = library.api();
  Plan plan;
  plan.model = model;
  plan.batching = io.max_batch_size > 0;
  plan.io = io;
  const int32_t traits = api.traits(module);
  plan.has_effects = (traits & kTorchHasEffects) != 0;
  plan.branches = (traits & kTorchBranches) != 0;
  const uint32_t count = api.argument_count(module);
  std::vector<std::string> names;
  for (uint32_t i = 0; i < count; i++) {
    const TorchArgument argument = api.argument(module, i);
    if (Status status = CheckArgument(argument, count); !status.ok()) return status;
    plan.is_map = argument.kind == kTorchTensorMap;
    names.push_back(argument.name);
  }
  if (!plan.is_map && io.inputs.size() != count) {
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    return Status::InvalidArg("unable to load model '" + model + "', configuration expects " +
                              std::to_string(io.inputs.size()) + " inputs, model provides " +
                              std::to_string(count) + (count > 0 ? " (" + list + ")" : ""));
  }
  std::vector<uint32_t> arguments(io.inputs.size());
  if (!plan.is_map) {
    auto found = ArgumentsOf(io.inputs, names);
    if (!found.ok()) return found.status();
    arguments = found.take();
  }
  for (size_t i = 0; i < io.inputs.size(); i++) {
    const TensorSpec& input = io.inputs[i];
    Status status = CheckTensor(input, "input", model);
    if (status.ok()) status = CheckType(input, api.argument(module, arguments[i]), plan.is_map);
    if (!status.ok()) return status;
    const uint32_t place = plan.is_map ? static_cast<uint32_t>(i) : arguments[i];
    plan.inputs.push_back({input.name, input.datatype, place});
  }
  const std::vector<uint32_t> values = ValuesOf(io.outputs);
  for (size_t i = 0; i < io.outputs.size(); i++) {
    const TensorSpec& output = io.outputs[i];
    if (Status status = CheckTensor(output, "output", model); !status.ok()) return status;
    plan.outputs.push_back({output.name, output.datatype, values[i]});
  }
  return plan;
}

}  // namespace tritonts::pytorch
