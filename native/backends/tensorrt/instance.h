// An instance of a plan on a GPU (../gpu/gpu_instance.h moves batches there and back).
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
  // INVALID_ARG: the plan lacks a profile, or no profile accepts a graph's shapes. `own_thread`: a
  // separate thread enqueues the instance's batches. That is always so if enqueueing may block.
  Status Prepare(const std::vector<int32_t>& profiles, const std::vector<GraphSpec>& graphs,
                 bool own_thread);

 private:
  Status PrepareContexts(const std::vector<int32_t>& profiles, bool own_thread);
  bool ReadsOnDevice(uint32_t input) const override { return !inputs_[input]->on_host; }
  Status Shape(Batch& batch) override;
  Status Launch(Batch& batch, device::cuda::Stream stream) override;
  // Whether the shape of an output depends on data. TensorRT then waits for the data while a batch
  // is enqueued. Also true if TensorRT cannot tell.
  bool MayWait();
  // Shapes a batch and places its tensors, without a graph.
  Status ShapePlainly(Batch& batch);
  Status LaunchPlainly(Batch& batch, device::cuda::Stream stream);
  Status SetInput(Batch& batch, size_t index);
  Status SetInputShape(size_t index, std::span<const int64_t> shape);
  Status InferShapes();

  // instance_graphs.cc. All need the context current.
  //
  // Records graphs for all lanes.
  Status PrepareGraphs(const std::vector<GraphSpec>& specs);
  // Creates the graph of a spec. Its context is null if the profile does not accept it.
  RecordedGraph GraphOf(const GraphSpec& spec, const Contexts::OfProfile& profile) const;
  // Sets the graph's input shapes, and determines its output shapes.
  Status ShapeGraph(RecordedGraph* graph);
  Status ReserveFor(const RecordedGraph& graph);
  // Runs a batch with the graph's shapes, and records it.
  Status RecordGraph(RecordedGraph* graph, device::cuda::Stream stream);
  // Whether graph_ can compute a batch: no input in device memory needs padding.
  bool CanPad(const Batch& batch) const;
  // Shapes a batch that graph_ computes.
  Status ShapeByGraph(Batch& batch);
  Status PadInput(Batch& batch, size_t index);
  // Whether the batch's memory is the memory that the graph was recorded with.
  bool IsInPlace(const RecordedGraph& graph, const Batch& batch) const;
  // Sets an output's shape, or its allocator if the shape is not known yet.
  Status ShapeOutput(Batch& batch, uint32_t index);
  Status Place(const char* what, const std::string& name, uintptr_t address);

  const std::shared_ptr<const Engine> engine_;
  // Null: the GPU's thread enqueues, together with batches of other instances.
  std::unique_ptr<device::Submission> submission_;
  // Lanes share the contexts: enqueued work keeps the addresses that it was enqueued with.
  std::unique_ptr<Contexts> contexts_;
  // The plan's tensors in the order of the model's inputs and outputs.
  std::vector<const PlanTensor*> inputs_;
  std::vector<const PlanTensor*> outputs_;
  Graphs graphs_;
  // These belong to the batch that is being enqueued.
  Object* context_ = nullptr;
  RecordedGraph* graph_ = nullptr;  // null: without a graph
  bool exact_ = false;              // the graph was recorded with the batch's shapes
  std::vector<Contexts::Given> given_;
  std::vector<std::vector<int64_t>> values_;
  // The optimal values of shape tensors, to which a context points.
  std::vector<std::vector<char>> best_values_;
  // By output; null: no batch has needed an allocator for it.
  std::vector<std::unique_ptr<OutputAllocator>> allocators_;
  std::vector<bool> told_late_;  // by output: whether the allocator is used for this batch
};

}  // namespace tritonts::tensorrt
