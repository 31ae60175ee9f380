#include "plan.h"

#include <algorithm>

#include "types.h"

namespace tritonts::tensorflow {

namespace {

const SignatureTensor* FindNamed(const std::vector<SignatureTensor>& tensors,
                                 const std::string& name) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(),
                   [&](const SignatureTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

// Finds a configured tensor in the model, and checks that the server can pass it.
StatusOr<TensorPlan> Match(const Session& session, const ModelIo& io, const TensorSpec& spec,
                           const std::vector<SignatureTensor>& tensors, const std::string& what,
                           bool any) {
  const SignatureTensor* const tensor = FindNamed(tensors, spec.name);
  if (!tensor && !any) {
    std::string names;
    for (const auto& one : tensors) names += (names.empty() ? "'" : ", '") + one.name + "'";
    return Status::InvalidArg("the model has no " + what + " '" + spec.name + "'; it has " +
                              (names.empty() ? "none" : names));
  }
  TensorPlan plan;
  plan.name = spec.name;
  plan.place = tensor ? tensor->place : spec.name;
  plan.datatype = spec.datatype;
  if (plan.place.empty()) {
    return Status::Unsupported("the " + what + " '" + spec.name +
                               "' is no dense tensor in the model, so no request can have it");
  }
  auto output = session.Find(plan.place);
  if (!output.ok()) {
    return Status::InvalidArg(what + " '" + spec.name + "': " + output.status().message());
  }
  plan.type = session.library().table().OperationOutputType(output.value());
  if (TypeOf(plan.type) != spec.datatype || spec.datatype == DataType::kInvalid) {
    return Status::InvalidArg(what + " '" + spec.name + "' is configured as " +
                              Name(spec.datatype) + ", but the model has " + TypeName(plan.type));
  }
  plan.scalar = tensor && io.max_batch_size == 0 && tensor->has_rank && tensor->dims.empty() &&
                spec.dims.size() == 1 && spec.dims[0] == 1;
  return plan;
}

}  // namespace

StatusOr<Plan> MakePlan(const Session& session, const ModelIo& io, const Signature& signature,
                        bool any_output) {
  Plan plan;
  plan.batching = io.max_batch_size > 0;
  for (const TensorSpec& spec : io.inputs) {
    auto input = Match(session, io, spec, signature.inputs, "input", false);
    if (!input.ok()) return input.status();
    plan.inputs.push_back(input.take());
  }
  for (const SignatureTensor& input : signature.inputs) {
    const auto has = [&](const TensorSpec& spec) { return spec.name == input.name; };
    if (any_output || std::any_of(io.inputs.begin(), io.inputs.end(), has)) continue;
    return Status::InvalidArg("the model also has the input '" + input.name +
                              "', which its configuration lacks");
  }
  for (const TensorSpec& spec : io.outputs) {
    auto output = Match(session, io, spec, signature.outputs, "output", any_output);
    if (!output.ok()) return output.status();
    plan.outputs.push_back(output.take());
  }
  return plan;
}

}  // namespace tritonts::tensorflow
