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
    return Status::Unsupported(
        "the " + what + " '" + spec.name +
        "' is no dense tensor in the model, so no request can have it. Write " +
        "the model's other " + what + "s in config.pbtxt");
  }
  auto output = session.Find(plan.place);
  if (!output.ok()) {
    return Status::InvalidArg(what + " '" + spec.name + "': " + output.status().message());
  }
  plan.output = output.value();
  plan.type = session.library().table().OperationOutputType(output.value());
  if (TypeOf(plan.type) != spec.datatype || spec.datatype == DataType::kInvalid) {
    return Status::InvalidArg(what + " '" + spec.name + "' is configured as " +
                              Name(spec.datatype) + ", but the model has " + TypeName(plan.type));
  }
  plan.scalar = tensor && io.max_batch_size == 0 && tensor->has_rank && tensor->dims.empty() &&
                spec.dims.size() == 1 && spec.dims[0] == 1;
  return plan;
}

bool IsSame(const TensorPlan& a, const TensorPlan& b) {
  return a.output.operation == b.output.operation && a.output.index == b.output.index;
}

// TensorFlow runs no graph to which a tensor is given twice, or that gives an input back.
Status CheckApart(const Plan& plan) {
  for (size_t i = 0; i < plan.inputs.size(); i++) {
    const TensorPlan& input = plan.inputs[i];
    for (size_t k = 0; k < i; k++) {
      if (!IsSame(input, plan.inputs[k])) continue;
      return Status::InvalidArg(
          "the inputs '" + plan.inputs[k].name + "' and '" + input.name +
          "' are one tensor of the graph, which TensorFlow does not take twice");
    }
    for (const TensorPlan& output : plan.outputs) {
      if (!IsSame(input, output)) continue;
      return Status::InvalidArg(
          "output '" + output.name + "' is the input '" + input.name +
          "' itself, which TensorFlow does not give back: export the model with "
          "tf.identity of it, or leave the output out");
    }
  }
  return Status::Ok();
}

}  // namespace

StatusOr<Plan> MakePlan(const Session& session, const ModelIo& io, const Signature& signature,
                        bool any_output) {
  Plan plan;
  plan.batching = io.max_batch_size > 0;
  plan.io = io;
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
  if (Status status = CheckApart(plan); !status.ok()) return status;
  return plan;
}

}  // namespace tritonts::tensorflow
