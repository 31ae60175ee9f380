#include "plan.h"

#include <algorithm>
#include <limits>

namespace tritonts::openvino {

namespace {

constexpr OvDimension kAny = {-1, -1};

OvDimension Exactly(int64_t size) {
  return size < 0 ? kAny : OvDimension{size, size};
}

// Finds the port of a configured tensor, and checks that the server can pass it.
StatusOr<size_t> Match(const Library& library, const OvModel* model, Side side,
                       const TensorSpec& spec, const std::vector<PortFacts>& ports) {
  const std::string what = side == Side::kInput ? "input" : "output";
  const std::string listed = ListedName(library, model, side, spec.name);
  const auto has_name = [&](const PortFacts& port) { return port.name == listed; };
  const auto found = std::find_if(ports.begin(), ports.end(), has_name);
  if (found == ports.end()) {
    std::string names;
    for (const PortFacts& port : ports) names += (names.empty() ? "'" : ", '") + port.name + "'";
    return Status::InvalidArg("the model has no " + what + " '" + spec.name + "'; it has " + names);
  }
  if (std::count_if(ports.begin(), ports.end(), has_name) > 1) {
    return Status::Unsupported("several " + what + "s of the model have the name '" + listed +
                               "', so no request can tell them apart");
  }
  if (library.TypeOf(found->element) != spec.datatype || spec.datatype == DataType::kInvalid) {
    const DataType type = library.TypeOf(found->element);
    return Status::InvalidArg(
        what + " '" + spec.name + "' is configured as " + Name(spec.datatype) +
        ", but the model has " +
        (type == DataType::kInvalid ? "a type that Triton has no name for" : Name(type)));
  }
  return static_cast<size_t>(found - ports.begin());
}

bool IsScalar(const ModelIo& io, const TensorSpec& spec, const PortFacts& port) {
  return io.max_batch_size == 0 && port.has_rank && port.dims.empty() && spec.dims.size() == 1 &&
         spec.dims[0] == 1;
}

// The shapes that the inputs should have, with `rows` (-1: any number) in the first dim of each if
// the model batches.
Shapes WantedShapes(const ModelIo& io, const Plan& plan, const std::vector<PortFacts>& inputs,
                    bool reshape, int64_t rows) {
  Shapes shapes;
  for (const PortFacts& input : inputs) shapes.push_back(input.bounds);
  for (size_t i = 0; i < plan.inputs.size(); i++) {
    std::vector<OvDimension>& shape = shapes[plan.inputs[i].port];
    if (reshape && !plan.inputs[i].scalar) {
      shape.clear();
      for (const int64_t dim : io.inputs[i].dims) shape.push_back(Exactly(dim));
    }
    if (plan.batching && !shape.empty()) shape[0] = Exactly(rows);
  }
  return shapes;
}

// The bytes of a shape, below 4 GiB; false: unknown, or more.
bool SizeOf(const std::vector<int64_t>& dims, DataType datatype, size_t* bytes) {
  *bytes = ByteSize(datatype);
  for (const int64_t dim : dims) {
    if (dim < 0 ||
        (dim > 0 && *bytes > std::numeric_limits<uint32_t>::max() / static_cast<uint64_t>(dim))) {
      return false;
    }
    *bytes *= static_cast<size_t>(dim);
  }
  return true;
}

// Learns which outputs have a shape that follows from the number of rows alone: the shape must be
// static if the model has a fixed number of rows, and its first dim must be that number, for two
// numbers. Afterwards the model has other shapes.
Status LearnShapes(const Library& library, const OvModel* model,
                   const std::vector<PortFacts>& inputs, const ModelIo& io, bool reshape,
                   Plan* plan) {
  std::vector<std::vector<PortFacts>> seen;
  for (const int64_t rows : {2, 3}) {
    Status status = Reshape(library, model, inputs, WantedShapes(io, *plan, inputs, reshape, rows));
    // A model that takes no other number of rows has no shapes to learn.
    if (!status.ok()) return Status::Ok();
    auto outputs = ReadPorts(library, model, Side::kOutput);
    if (!outputs.ok()) return outputs.status();
    for (const OutputPlan& output : plan->outputs) {
      const PortFacts& port = outputs.value()[output.port];
      const std::vector<int64_t>& dims = port.dims;
      if (!port.IsStatic() || (!dims.empty() && dims[0] == rows)) continue;
      return Status::InvalidArg(
          "output '" + output.name + "' has " +
          (dims.empty() ? "no dimension" : std::to_string(dims[0]) + " rows") + " for a batch of " +
          std::to_string(rows) +
          " rows: a model that does not keep the rows of its inputs cannot " +
          "be batched. Write max_batch_size: 0 and whole shapes as dims in config.pbtxt");
    }
    seen.push_back(outputs.take());
  }
  for (OutputPlan& output : plan->outputs) {
    const PortFacts& two = seen[0][output.port];
    const PortFacts& three = seen[1][output.port];
    if (!two.IsStatic() || !three.IsStatic()) continue;
    const std::vector<int64_t> row(two.dims.begin() + 1, two.dims.end());
    output.fixed = std::equal(row.begin(), row.end(), three.dims.begin() + 1, three.dims.end()) &&
                   SizeOf(row, output.datatype, &output.bytes);
    output.dims = row;
  }
  return Status::Ok();
}

// Refuses a batch size that is above the rows of an output.
Status CheckMostRows(const Plan& plan, const std::vector<PortFacts>& outputs, const ModelIo& io) {
  for (const OutputPlan& output : plan.outputs) {
    const int64_t most = outputs[output.port].most_rows();
    if (most < 0 || most >= int64_t{io.max_batch_size}) continue;
    return Status::InvalidArg("output '" + output.name + "' has at most " + std::to_string(most) +
                              " rows, but max_batch_size is " + std::to_string(io.max_batch_size));
  }
  return Status::Ok();
}

// Gives a model that takes only full batches its shapes.
Status MakeFullBatches(const Library& library, const OvModel* model,
                       const std::vector<PortFacts>& inputs, const ModelIo& io, bool reshape,
                       Plan* plan) {
  plan->padded_rows = io.max_batch_size;
  Status status =
      Reshape(library, model, inputs, WantedShapes(io, *plan, inputs, reshape, io.max_batch_size));
  if (!status.ok()) {
    return Status::InvalidArg("the model takes no batches of " + std::to_string(io.max_batch_size) +
                              " rows, which is max_batch_size: " + status.message());
  }
  auto outputs = ReadPorts(library, model, Side::kOutput);
  if (!outputs.ok()) return outputs.status();
  for (OutputPlan& output : plan->outputs) {
    const PortFacts& port = outputs.value()[output.port];
    if (!port.IsStatic() || port.dims.empty() || port.dims[0] != int64_t{io.max_batch_size}) {
      return Status::InvalidArg("output '" + output.name + "' has another number of rows than " +
                                std::to_string(io.max_batch_size) +
                                ", which is max_batch_size, so the model cannot be batched");
    }
    output.dims.assign(port.dims.begin() + 1, port.dims.end());
    output.fixed = SizeOf(output.dims, output.datatype, &output.bytes);
    if (!output.fixed) return Status::InvalidArg("output '" + output.name + "' is too large");
  }
  return Status::Ok();
}

// Gives a model that batches its shapes.
Status MakeBatches(const Library& library, const OvModel* model,
                   const std::vector<PortFacts>& inputs, const ModelIo& io,
                   const PlanOptions& options, Plan* plan) {
  for (const InputPlan& input : plan->inputs) {
    const PortFacts& port = inputs[input.port];
    const int64_t most = port.most_rows();
    if (!options.reshape && most >= 0 && !port.bounds[0].is_static() &&
        most < int64_t{io.max_batch_size}) {
      return Status::InvalidArg("input '" + input.name + "' has at most " + std::to_string(most) +
                                " rows, but max_batch_size is " +
                                std::to_string(io.max_batch_size));
    }
    if (port.has_rank && port.dims.empty()) {
      return Status::InvalidArg("input '" + input.name +
                                "' has no dimension, so the model cannot be batched. Write "
                                "max_batch_size: 0");
    }
  }
  if (Status status = LearnShapes(library, model, inputs, io, options.reshape, plan);
      !status.ok()) {
    return status;
  }
  const Status dynamic =
      Reshape(library, model, inputs, WantedShapes(io, *plan, inputs, options.reshape, -1));
  if (dynamic.ok()) {
    auto outputs = ReadPorts(library, model, Side::kOutput);
    if (!outputs.ok()) return outputs.status();
    const auto keeps_rows = [&](const OutputPlan& output) {
      const PortFacts& port = outputs.value()[output.port];
      return !port.has_rank || (!port.dims.empty() && port.dims[0] < 0);
    };
    if (std::all_of(plan->outputs.begin(), plan->outputs.end(), keeps_rows)) {
      for (OutputPlan& output : plan->outputs) {
        const PortFacts& port = outputs.value()[output.port];
        // What was learned from two numbers of rows holds for all.
        output.fixed = output.fixed && port.IsStatic(1);
      }
      return CheckMostRows(*plan, outputs.value(), io);
    }
  }
  const std::string why =
      dynamic.ok() ? "its outputs have a fixed number of rows" : dynamic.message();
  if (!options.padding) {
    return Status::InvalidArg(
        "the model cannot be batched with a variable number of rows (" + why +
        "). Write max_batch_size: 0 and whole shapes as dims in config.pbtxt, or the parameter "
        "ENABLE_BATCH_PADDING: YES, which fills smaller batches with rows of zeros");
  }
  return MakeFullBatches(library, model, inputs, io, options.reshape, plan);
}

// Gives a model without batches its shapes, and finds the outputs whose shapes are known.
Status MakeWhole(const Library& library, const OvModel* model, const std::vector<PortFacts>& inputs,
                 const ModelIo& io, bool reshape, Plan* plan) {
  if (reshape) {
    Status status = Reshape(library, model, inputs, WantedShapes(io, *plan, inputs, true, 0));
    if (!status.ok()) {
      return Status::InvalidArg("the model takes no shapes as its configuration has: " +
                                status.message());
    }
  }
  auto outputs = ReadPorts(library, model, Side::kOutput);
  if (!outputs.ok()) return outputs.status();
  for (OutputPlan& output : plan->outputs) {
    const PortFacts& port = outputs.value()[output.port];
    output.dims = output.scalar ? std::vector<int64_t>{1} : port.dims;
    output.fixed = port.IsStatic() && SizeOf(output.dims, output.datatype, &output.bytes);
  }
  return Status::Ok();
}

}  // namespace

StatusOr<bool> KeepsRows(const Library& library, const OvModel* model,
                         const std::vector<PortFacts>& inputs) {
  Shapes own;
  for (const PortFacts& input : inputs) {
    if (!input.has_rank || input.dims.empty() || input.dims[0] >= 0) return false;
    own.push_back(input.bounds);
  }
  if (inputs.empty()) return false;
  bool keeps = true;
  for (const int64_t rows : {2, 3}) {
    Shapes shapes = own;
    for (std::vector<OvDimension>& shape : shapes) shape[0] = Exactly(rows);
    keeps = keeps && Reshape(library, model, inputs, shapes).ok();
    if (!keeps) break;
    auto outputs = ReadPorts(library, model, Side::kOutput);
    if (!outputs.ok()) return outputs.status();
    for (const PortFacts& output : outputs.value()) {
      keeps = keeps && output.has_rank && !output.dims.empty() && output.dims[0] == rows;
    }
  }
  if (Status status = Reshape(library, model, inputs, own); !status.ok()) return status;
  auto outputs = ReadPorts(library, model, Side::kOutput);
  if (!outputs.ok()) return outputs.status();
  const auto has_limit = [](const PortFacts& output) { return output.most_rows() >= 0; };
  return keeps && std::none_of(outputs.value().begin(), outputs.value().end(), has_limit);
}

StatusOr<Plan> MakePlan(const Library& library, const OvModel* model, const ModelIo& io,
                        const std::vector<PortFacts>& inputs, const std::vector<PortFacts>& outputs,
                        const PlanOptions& options) {
  Plan plan;
  plan.batching = io.max_batch_size > 0;
  for (const TensorSpec& spec : io.inputs) {
    auto port = Match(library, model, Side::kInput, spec, inputs);
    if (!port.ok()) return port.status();
    plan.inputs.push_back(
        {spec.name, port.value(), spec.datatype, IsScalar(io, spec, inputs[port.value()])});
  }
  for (size_t i = 0; i < inputs.size(); i++) {
    const auto has = [i](const InputPlan& one) { return one.port == i; };
    if (std::none_of(plan.inputs.begin(), plan.inputs.end(), has)) {
      return Status::InvalidArg("the model also has the input '" + inputs[i].name +
                                "', which its configuration lacks");
    }
  }
  for (const TensorSpec& spec : io.outputs) {
    auto port = Match(library, model, Side::kOutput, spec, outputs);
    if (!port.ok()) return port.status();
    OutputPlan output;
    output.name = spec.name;
    output.port = port.value();
    output.datatype = spec.datatype;
    output.scalar = IsScalar(io, spec, outputs[port.value()]);
    plan.outputs.push_back(std::move(output));
  }
  Status status = plan.batching ? MakeBatches(library, model, inputs, io, options, &plan)
                                : MakeWhole(library, model, inputs, io, options.reshape, &plan);
  if (!status.ok()) return status;
  return plan;
}

}  // namespace tritonts::openvino
