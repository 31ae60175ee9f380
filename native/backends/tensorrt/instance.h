// An instance of a plan on a GPU (../gpu/gpu_instance.h says how its batches get there and back).
#pragma once

#include <memory>
#include <vector>

#include "../gpu/gpu_instance.h"
#include "contexts.h"
#include "engine.h"
#include "graph_spec.h"
#include "graphs.h"
#include "output_allocator.h"

namespace tritonts::tensorrt {

class TensorRtInstance final : public GpuInstance {
 public:
  TensorRtInstance(std::shared_ptr<const Engine> engine, std::shared_ptr<const GpuModel> model);
  ~TensorRtInstance() override;
  // INVALID_ARG: the plan has no such profile, or none of them takes what a graph is asked for.
  // `own_thread`: one enqueues its batches alone. Where that may wait, one does so in any case.
  Status Prepare(const std::vector<int32_t>& profiles, const std::vector<GraphSpec>& graphs,
                 bool own_thread);

 private:
  Status PrepareContexts(const std::vector<int32_t>& profiles, bool own_thread);
  bool ReadsOnDevice(uint32_t input) const override { return !inputs_[input]->on_host; }
  Status Shape(Batch& batch) override;
  Status Launch(Batch& batch, device::cuda::Stream stream) override;
  // Whether the shape of an output depends on data. TensorRT then waits for these while a batch is
  // enqueued. True also where TensorRT does not tell.
  bool MayWait();
  // Shapes a batch, and places it, without a graph.
  Status ShapePlainly(Batch& batch);
  Status LaunchPlainly(Batch& batch, device::cuda::Stream stream);
  Status SetInput(Batch& batch, size_t index);
  Status SetInputShape(size_t index, std::span<const int64_t> shape);
  Status InferShapes();

  // instance_graphs.cc. All need the context current.
  //
  // Records graphs for all lanes.
  Status PrepareGraphs(const std::vector<GraphSpec>& specs);
  // The graph of a spec; one without a context: the profile does not take it.
  RecordedGraph GraphOf(const GraphSpec& spec, const Contexts::OfProfile& profile) const;
  // Sets the shapes of the graph, and finds out those of its outputs.
  Status ShapeGraph(RecordedGraph* graph);
  Status ReserveFor(const RecordedGraph& graph);
  // Enqueues a batch with the shapes of the graph, and records it. The batch is computed.
  Status RecordGraph(RecordedGraph* graph, device::cuda::Stream stream);
  // Whether graph_ can compute a batch: nothing on the device has to be padded.
  bool CanPad(const Batch& batch) const;
  // Shapes a batch that is computed by graph_.
  Status ShapeByGraph(Batch& batch);
  Status PadInput(Batch& batch, size_t index);
  // Whether the batch has the memory that the graph was recorded with.
  bool IsInPlace(const RecordedGraph& graph, const Batch& batch) const;
  // Sets an output's shape, or prepares to be told it.
  Status ShapeOutput(Batch& batch, uint32_t index);
  Status Place(const char* what, const std::string& name, uintptr_t address);

  const std::shared_ptr<const Engine> engine_;
  // Null: the GPU's thread enqueues, with batches of other instances.
  std::unique_ptr<device::Submission> submission_;
  // Lanes share the contexts: what is enqueued has the addresses that it was enqueued with.
  std::unique_ptr<Contexts> contexts_;
  // The tensors of the plan, as the model's inputs and outputs are ordered.
  std::vector<const PlanTensor*> inputs_;
  std::vector<const PlanTensor*> outputs_;
  Graphs graphs_;
  // Of the batch that is enqueued.
  Object* context_ = nullptr;
  RecordedGraph* graph_ = nullptr;  // null: it is enqueued without one
  bool exact_ = false;              // it was recorded with the batch's shapes
  std::vector<Contexts::Given> given_;
  std::vector<std::vector<int64_t>> values_;
  // The best values of shape tensors, which a context was asked about.
  std::vector<std::vector<char>> best_values_;
  // By output; null: its shape was always known before it was computed.
  std::vector<std::unique_ptr<OutputAllocator>> allocators_;
  std::vector<bool> told_late_;  // by output: whether the allocator is used for this batch
};

}  // namespace tritonts::tensorrt
