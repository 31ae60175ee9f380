// Recording CUDA graphs of a plan, and running batches with them.
#include <algorithm>
#include <cstring>
#include <span>

#include "../gpu/box.h"
#include "instance.h"
#include "log.h"

namespace tritonts::tensorrt {

RecordedGraph TensorRtInstance::GraphOf(const GraphSpec& spec,
                                        const Contexts::OfProfile& profile) const {
  RecordedGraph graph;
  for (size_t i = 0; i < inputs_.size(); i++) {
    const Bounds& bounds = inputs_[i]->shapes[static_cast<size_t>(profile.profile)];
    std::vector<int64_t> shape = bounds.best;
    std::vector<int64_t> least = bounds.best;
    const auto named = spec.inputs.find(inputs_[i]->name);
    if (named != spec.inputs.end()) {
      shape = named->second.most;
      least = named->second.least;
    }
    if (model().batching) {
      if (named != spec.inputs.end()) {
        shape.insert(shape.begin(), 0);
        least.insert(least.begin(), 0);
      }
      shape[0] = spec.rows;
      least[0] = spec.least_rows;
    }
    // A profile without bounds accepts what the plan's dims allow.
    const bool fits = shape.size() == inputs_[i]->dims.size() && bounds.Take(shape) &&
                      std::none_of(shape.begin(), shape.end(), [](int64_t dim) { return dim < 0; });
    if (!fits) return {};
    graph.shapes.push_back(std::move(shape));
    graph.least.push_back(std::move(least));
  }
  graph.context = profile.context;
  return graph;
}

Status TensorRtInstance::PrepareGraphs(const std::vector<GraphSpec>& specs) {
  for (const GraphSpec& spec : specs) {
    bool taken = false;
    for (const Contexts::OfProfile& profile : contexts_->all()) {
      RecordedGraph graph = GraphOf(spec, profile);
      if (!graph.context) continue;
      taken = true;
      if (Status status = ShapeGraph(&graph); !status.ok()) return status;
      for (graph.lane = 0; graph.lane < model().max_concurrency; graph.lane++) {
        if (Status status = ReserveFor(graph); !status.ok()) return status;
        RecordedGraph& added = graphs_.Add({});
        added.lane = graph.lane;
        added.context = graph.context;
        added.shapes = graph.shapes;
        added.least = graph.least;
        added.outputs = graph.outputs;
      }
    }
    if (!taken && !spec.path.empty())
      return Status::InvalidArg(spec.path +
                                ": no profile of the plan that the instance uses takes its shapes");
  }
  // Once all memory is reserved, it does not move while the graphs are recorded.
  for (RecordedGraph& graph : graphs_.all()) {
    context_ = graph.context;
    Status status = RecordGraph(&graph, kernels());
    if (!status.ok()) return About("graph of model", model().name, status);
  }
  if (graphs_.all().empty()) return Status::Ok();
  return gpu().Check(gpu().call().StreamSynchronize(kernels()), "cuStreamSynchronize");
}

Status TensorRtInstance::ShapeGraph(RecordedGraph* graph) {
  context_ = graph->context;
  ForgetLog();
  for (size_t i = 0; i < inputs_.size(); i++) {
    Status status = SetInputShape(i, graph->shapes[i]);
    if (!status.ok()) return About("input", inputs_[i]->name, status);
  }
  if (Status status = InferShapes(); !status.ok()) return status;
  graph->outputs.clear();
  for (size_t i = 0; i < outputs_.size(); i++) {
    const Dims dims =
        Call<Dims>(context_, engine_->table().context.getTensorShape, outputs_[i]->name.c_str());
    const std::span shape(dims.d, static_cast<size_t>(std::clamp(dims.count, 0, Dims::kMost)));
    size_t bytes = 0;
    if (!TensorBytes(shape, outputs_[i]->datatype, &bytes))
      return About(
          "output", outputs_[i]->name,
          Status::Unsupported("its shape " + TextOf(shape) +
                              " depends on data, so optimization.cuda.graphs must be off"));
    graph->outputs.emplace_back(shape.begin(), shape.end());
  }
  return Status::Ok();
}

Status TensorRtInstance::ReserveFor(const RecordedGraph& graph) {
  Batch& batch = BatchOf(graph.lane);
  for (size_t i = 0; i < inputs_.size() + outputs_.size(); i++) {
    const bool is_input = i < inputs_.size();
    const size_t at = is_input ? i : i - inputs_.size();
    size_t bytes = 0;
    if (!TensorBytes(is_input ? graph.shapes[at] : graph.outputs[at],
                     (is_input ? inputs_ : outputs_)[at]->datatype, &bytes))
      return Status::InvalidArg("its tensors are too large");
    device::DeviceMemory& memory = is_input ? batch.inputs[at].device : batch.outputs[at].device;
    Status status = memory.Reserve(std::max<size_t>(1, bytes));
    // The recording runs once without real inputs, and some plans use the values as indexes: so
    // zeros.
    if (status.ok() && is_input)
      status =
          gpu().Check(gpu().call().MemsetD8Async(memory.address(), 0, memory.size(), kernels()),
                      "cuMemsetD8Async");
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

bool TensorRtInstance::IsInPlace(const RecordedGraph& graph, const Batch& batch) const {
  // A graph that could not be recorded has no addresses.
  if (graph.addresses.empty()) return false;
  auto address = graph.addresses.begin();
  for (const Input& input : batch.inputs)
    if (input.device.address() != *address++) return false;
  for (const Output& output : batch.outputs)
    if (output.device.address() != *address++) return false;
  return true;
}

Status TensorRtInstance::RecordGraph(RecordedGraph* graph, device::cuda::Stream stream) {
  Batch& batch = BatchOf(graph->lane);
  graph->graph = {};
  graph->addresses.clear();
  Status status = ShapeGraph(graph);
  // TensorRT's one-time work for new shapes cannot be recorded, so run once first.
  if (status.ok()) status = LaunchPlainly(batch, stream);
  if (!status.ok()) return status;
  auto recorded =
      device::Graph::Record(engine_->gpu(), stream, [&] { return LaunchPlainly(batch, stream); });
  if (!recorded.ok()) return recorded.status();
  graph->graph = recorded.take();
  for (const Input& input : batch.inputs) graph->addresses.push_back(input.device.address());
  for (const Output& output : batch.outputs) graph->addresses.push_back(output.device.address());
  return status;
}

bool TensorRtInstance::CanPad(const Batch& batch) const {
  for (size_t i = 0; i < inputs_.size(); i++) {
    const Gathered& gathered = batch.inputs[i].gathered;
    if (!gathered.parts.empty() && !DiffersInRowsOnly(gathered.shape, graph_->shapes[i]))
      return false;
  }
  return true;
}

Status TensorRtInstance::ShapeByGraph(Batch& batch) {
  // A graph contains the addresses of the lane's memory.
  for (Input& input : batch.inputs) input.in_place = 0;
  for (Output& output : batch.outputs) output.in_lane = true;
  exact_ = graph_->IsFor(given_);
  if (!exact_) {
    // The responses have the shapes of the requests.
    if (Status status = ShapePlainly(batch); !status.ok()) return status;
    for (size_t i = 0; i < inputs_.size(); i++) {
      Status status = PadInput(batch, i);
      if (!status.ok()) return About("input", model().inputs[i].name, status);
    }
  }
  for (uint32_t i = 0; i < outputs_.size(); i++) {
    Output& output = batch.outputs[i];
    const std::vector<int64_t>& computed = graph_->outputs[i];
    Status status;
    if (exact_) {
      status = SetShape(batch, i, computed);
    } else if (!DiffersInRowsOnly(output.shape, computed)) {
      output.computed = computed;
      if (!TensorBytes(computed, outputs_[i]->datatype, &output.computed_bytes))
        status = Status::Internal("the graph returned shape " + TextOf(computed));
    }
    // The memory may have grown for a larger batch since; it never shrinks.
    size_t bytes = 0;
    if (status.ok() && TensorBytes(computed, outputs_[i]->datatype, &bytes))
      status = output.device.Reserve(std::max<size_t>(1, bytes));
    if (!status.ok()) return About("output", model().outputs[i].name, status);
  }
  return Status::Ok();
}

Status TensorRtInstance::PadInput(Batch& batch, size_t index) {
  Input& input = batch.inputs[index];
  Buffer& buffer = input.gathered.buffer;
  const std::vector<int64_t>& shape = graph_->shapes[index];
  size_t bytes = 0;
  if (!TensorBytes(shape, inputs_[index]->datatype, &bytes)) return Status::NoMemory();
  if (Status status = input.device.Reserve(std::max<size_t>(1, bytes)); !status.ok()) return status;
  // Missing rows at the end are computed from whatever the memory contains.
  if (DiffersInRowsOnly(input.gathered.shape, shape)) return Status::Ok();
  BlockRef padded = gpu().Pinned(std::max<size_t>(1, bytes));
  if (!padded) return Status::NoMemory();
  std::memset(padded->data(), 0, bytes);
  CopyBox(buffer.data, input.gathered.shape, padded->data(), shape,
          ByteSize(inputs_[index]->datatype));
  buffer.data = padded->data();
  buffer.size = bytes;
  buffer.owner = std::move(padded);
  return Status::Ok();
}

}  // namespace tritonts::tensorrt
