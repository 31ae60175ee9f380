// What instances on GPUs have in common: how batches get to the device and back. A backend derives
// from it, and says only how a batch is run there.
//
// Tensors that go from one step of an ensemble to the next may stay on the device (tensors.cc).
//
//   any thread   Execute: the run is kept, and the instance submitted
//   submission   gather inputs in pinned memory, Shape; enqueue copies to the device, Launch, and
//                copies back. Then the instance is free, if it has a lane for the next batch
//   finishing    outputs to their requests; the lane is free
//
// A lane has all that one batch needs, and belongs to whoever has the batch. With several lanes,
// copies and kernels have streams of their own, which wait for each other by events. So the inputs
// of one batch are copied while another one is computed:
//
//   copies to the device     | n |      | n+1 |
//   kernels                      |   n    |   n+1   |
//   copies back                           | n |     | n+1 |
//
// A batch that finds no other one under way needs less: it is copied to the device on the stream of
// kernels, and small outputs are copied back there, too.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/gather_kernel.h"
#include "device/gpu.h"
#include "engine/backend.h"
#include "engine/batch/collector.h"

namespace tritonts {

// What the instances of a model have in common.
struct GpuModel {
  std::string name;
  bool batching = false;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  // Copies back have a stream of their own although there is one lane
  // (optimization.cuda.output_copy_stream).
  bool output_copy_stream = false;
  // Batches of an instance that may be under way (the model's parameter max_concurrency).
  uint32_t max_concurrency = 2;
  // Whether Shape and Launch are also for batches that lack an input.
  bool may_lack_inputs = false;
  // From so many pieces on, an input that is in the memory of the instance's device is gathered by
  // a kernel (optimization.gather_kernel_buffer_threshold); 0: never.
  uint32_t gather_kernel_threshold = 0;
  // The finishing thread spins for the end of batches (optimization.cuda.busy_wait_events).
  bool busy_wait = false;
  device::Gpu::Priority priority = device::Gpu::Priority::kDefault;  // optimization.priority
};

class GpuInstance : public Instance, private MemoryCopier, private device::Gpu::Job {
 public:
  ~GpuInstance() override;

  bool asynchronous() const override { return true; }
  void Execute(Run& run) final;
  void Terminate() override { terminated_ = true; }
  bool Takes(uint32_t input, MemoryKind kind, int device) const final;
  MemoryCopier* memory() final { return this; }
  const std::atomic<bool>* lost() const final { return &gpu_->lost(); }

 protected:
  struct Input {
    explicit Input(std::shared_ptr<device::Gpu> gpu) : device(std::move(gpu)) {}
    Gathered gathered;  // in memory of the host, or in parts
    device::DeviceMemory device;
    // Where it is on the device already; 0: nowhere. Shape may set it to 0, if the model reads it
    // from `device` only.
    device::cuda::Address in_place = 0;
    device::cuda::Address address() const { return in_place ? in_place : device.address(); }
    // Set by Shape, if the model reads it on the host: it is not copied to the device.
    bool on_host = false;
    // Whether it is copied to `device`. Once Shape was called.
    bool copied() const {
      return gathered.present && !on_host && in_place == 0 && gathered.buffer.size > 0;
    }
  };
  struct Output {
    explicit Output(std::shared_ptr<device::Gpu> gpu) : device(std::move(gpu)) {}
    device::DeviceMemory device;
    std::vector<int64_t> shape;  // of the whole batch
    // The shape that is being answered with, while the lane has its next batch already.
    std::vector<int64_t> answered;
    size_t bytes = 0;  // of `shape`
    // Set by Shape, if more is computed than is answered with: the larger shape, of which `shape`
    // is the part with the least indices. Empty: it is `shape`, or more rows of it.
    std::vector<int64_t> computed;
    size_t computed_bytes = 0;  // of `computed`
    bool wanted = false;        // by a request
    bool stays = false;         // all who want it take it on the device
    // Set by Shape, if the model writes it to `device` only.
    bool in_lane = false;
    BlockRef tensor;  // the memory on the device that it stays in
    device::cuda::Address address() const {
      return tensor ? reinterpret_cast<device::cuda::Address>(tensor->data()) : device.address();
    }
    // Set by Shape, if the model writes it on the host, to `staging`.
    bool on_host = false;
    BlockRef staging;  // pinned memory that it is copied to
    // Set by Launch, if the model puts it in memory of its own: on the device instead of `device`,
    // or on the host instead of `staging`.
    BlockRef own;
  };
  struct Batch {
    uint32_t lane = 0;  // from 0 on; its memory is the same for each batch
    Run* run = nullptr;
    std::vector<Input> inputs;
    std::vector<Output> outputs;
  };

  GpuInstance(std::shared_ptr<device::Gpu> gpu, std::shared_ptr<const GpuModel> model);
  // What a model may have of its own, which outlives the instance.
  struct Own {
    device::Submission* submission = nullptr;  // calls Shape and Launch; null: the GPU's
    device::cuda::Stream kernels = nullptr;    // null: the instance makes one
  };
  // Makes lanes and streams. Needs the context current.
  Status PrepareLanes(const Own& own);
  Status PrepareLanes() { return PrepareLanes(Own()); }
  // Has another thread than the GPU's call Shape and Launch. Before the first batch.
  void EnqueueOn(device::Submission& submission) { own_.submission = &submission; }
  const GpuModel& model() const { return *model_; }
  device::Gpu& gpu() const { return *gpu_; }
  // What a lane has, while no batch is under way there.
  Batch& BatchOf(uint32_t lane);
  // The stream of Launch.
  device::cuda::Stream kernels() const { return streams_[1]; }

  // The backend's part, on the submission thread with the context current. They may throw
  // std::bad_alloc.
  //
  // Checks the shapes of the inputs, which are gathered, and sets those of the outputs.
  virtual Status Shape(Batch& batch) = 0;
  // Whether the model reads an input on the device, and not on the host. It does not change.
  virtual bool ReadsOnDevice(uint32_t input) const = 0;
  // Enqueues the computation. Inputs and outputs have their addresses. It may set the shapes of
  // outputs that Shape could not, and give these their memory.
  virtual Status Launch(Batch& batch, device::cuda::Stream stream) = 0;
  // Sets an output's shape and bytes. UNSUPPORTED: they are not known. INTERNAL: its rows are not
  // the batch's.
  Status SetShape(Batch& batch, uint32_t output, std::span<const int64_t> shape) const;
  // The bytes of a tensor. False: there is no such number, or a dim is not known.
  static bool TensorBytes(std::span<const int64_t> shape, DataType datatype, size_t* bytes);
  // Prefixes the words with the tensor.
  static Status About(const char* what, const std::string& name, const Status& status);

 private:
  class Lane;

  // MemoryCopier, for the collector: pinned memory. The processor copies to it.
  BlockRef Allocate(MemoryKind kind, int device, size_t size) override;
  bool Copies(MemoryKind, MemoryKind) const override { return false; }
  Status Copy(const Buffer& from, const Buffer& to) override;

  void Enqueue() override;
  Status Allowed() const;
  Status EnqueueBatch(Lane& lane);
  Status GatherInput(Batch& batch, uint32_t index);
  Status EnqueueInput(Input& input, device::cuda::Stream up);
  Status EnqueueParts(Input& input, device::cuda::Stream up);
  // Where an input has so many parts that a kernel gathers them.
  bool IsForKernel(const Input& input) const;
  // False: there is no pinned memory for that.
  StatusOr<bool> GatherByKernel(Input& input, device::cuda::Stream up);
  // Finds out whether an output is wanted, and whether it may stay on the device.
  void NoteReaders(Batch& batch, uint32_t index) const;
  Status PlaceOutput(Batch& batch, uint32_t index);
  Status EnqueueOutput(Output& output, device::cuda::Stream down);
  Status TakeTensor(Output& output);
  Status TakeStaging(Output& output);
  Status CopyUp(device::cuda::Address to, const void* from, size_t size,
                device::cuda::Stream stream) const;
  Status CopyAcross(device::cuda::Address to, device::cuda::Address from, size_t size,
                    device::cuda::Stream stream) const;
  // Has one stream wait for what was put on another one.
  Status Follow(device::cuda::Stream stream, device::cuda::Stream other, device::cuda::Event event);
  Status Record(device::cuda::Event event, device::cuda::Stream stream);
  void FreeStreams();
  // Takes a lane that is idle, and says its streams; there is one if the instance was free.
  Lane& TakeLane();
  // The stream for copies back, once the outputs are known.
  device::cuda::Stream DownFor(const Lane& lane) const;
  // Gives a lane back. Returns the run that waited for one, which then frees the instance.
  RunRef GiveBack(Lane& lane);
  // What a lane that has its outputs, or failed, does last. The instance may be destroyed then.
  void End(Lane& lane, const Status& status);

  const std::shared_ptr<device::Gpu> gpu_;
  const std::shared_ptr<const GpuModel> model_;
  Own own_;
  // Copies to the device, kernels, and copies back. If there is one lane, the first two are one
  // stream, and the last, too, unless the model says otherwise.
  std::array<device::cuda::Stream, 3> streams_{};
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<device::GatherKernel> gather_;  // null: it is not used
  std::atomic<bool> terminated_{false};
  RunRef next_;  // to be enqueued

  std::mutex mutex_;  // guards the two below
  std::vector<Lane*> idle_;
  RunRef waiting_;  // all lanes were busy when it had been enqueued
};

}  // namespace tritonts
