// The common part of instances on GPUs: it moves batches to the device and back. A backend derives
// from it and implements only how a batch runs on the device.
//
// Tensors passed between steps of an ensemble may stay on the device (tensors.cc).
//
//   any thread   Execute: stores the run and submits the instance
//   submission   gathers inputs in pinned memory, calls Shape; enqueues copies to the device, calls
//                Launch, enqueues copies back. Then the instance is free if another lane is idle
//   finishing    gives the outputs to their requests; the lane becomes idle
//
// A lane has all resources that one batch needs, and belongs to the thread that handles the batch.
// With several lanes, copies and kernels use separate streams, which wait for each other by events.
// So the inputs of one batch are copied while another batch is computed:
//
//   copies to the device     | n |      | n+1 |
//   kernels                      |   n    |   n+1   |
//   copies back                           | n |     | n+1 |
//
// A batch that starts while no other is under way uses fewer streams: its inputs are copied on the
// kernels' stream, and small outputs are copied back on it, too.
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

// The settings that all instances of a model share.
struct GpuModel {
  std::string name;
  bool batching = false;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  // Use a separate stream for copies back even with a single lane
  // (optimization.cuda.output_copy_stream).
  bool output_copy_stream = false;
  // The number of batches that an instance may have under way (the model's parameter
  // max_concurrency).
  uint32_t max_concurrency = 2;
  // Whether Shape and Launch accept batches in which an input is absent.
  bool may_lack_inputs = false;
  // A kernel gathers an input in the instance's device memory if it has at least this many pieces
  // (optimization.gather_kernel_buffer_threshold); 0: never.
  uint32_t gather_kernel_threshold = 0;
  // The finishing thread spins until a batch ends (optimization.cuda.busy_wait_events).
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
    Gathered gathered;  // in host memory, or in parts
    device::DeviceMemory device;
    // The address if the input is already on the device; 0: it is not. Shape may set it to 0 if the
    // model reads the input only from `device`.
    device::cuda::Address in_place = 0;
    device::cuda::Address address() const { return in_place ? in_place : device.address(); }
    // Set by Shape if the model reads the input on the host: it is not copied to the device.
    bool on_host = false;
    // Whether the input is copied to `device`. Valid after Shape.
    bool copied() const {
      return gathered.present && !on_host && in_place == 0 && gathered.buffer.size > 0;
    }
  };
  struct Output {
    explicit Output(std::shared_ptr<device::Gpu> gpu) : device(std::move(gpu)) {}
    device::DeviceMemory device;
    std::vector<int64_t> shape;  // of the whole batch
    // The shape used in the responses while the lane already has its next batch.
    std::vector<int64_t> answered;
    size_t bytes = 0;  // of `shape`
    // Set by Shape if the model computes more than the response contains: the larger shape, of
    // which `shape` is the part with the lowest indices. Empty: the model computes `shape`, or more
    // rows of it.
    std::vector<int64_t> computed;
    size_t computed_bytes = 0;  // of `computed`
    bool wanted = false;        // by at least one request
    bool stays = false;         // every request that wants it accepts it on the device
    // Set by Shape if the model writes the output only to `device`.
    bool in_lane = false;
    BlockRef tensor;  // the device memory in which it stays
    device::cuda::Address address() const {
      return tensor ? reinterpret_cast<device::cuda::Address>(tensor->data()) : device.address();
    }
    // Set by Shape if the model writes the output on the host, to `staging`.
    bool on_host = false;
    BlockRef staging;  // the pinned memory that receives the copy
    // Set by Launch if the model allocated the output itself: on the device instead of `device`, or
    // on the host instead of `staging`.
    BlockRef own;
  };
  struct Batch {
    uint32_t lane = 0;  // counts from 0; each lane reuses its memory for all its batches
    Run* run = nullptr;
    std::vector<Input> inputs;
    std::vector<Output> outputs;
  };

  GpuInstance(std::shared_ptr<device::Gpu> gpu, std::shared_ptr<const GpuModel> model);
  // Resources that the model may provide. They outlive the instance.
  struct Own {
    // thread that calls Shape and Launch; null: the GPU's
    device::Submission* submission = nullptr;
    device::cuda::Stream kernels = nullptr;  // null: the instance makes one
  };
  // Creates lanes and streams. The device's context must be current.
  Status PrepareLanes(const Own& own);
  Status PrepareLanes() { return PrepareLanes(Own()); }
  // Makes another thread than the GPU's call Shape and Launch. Call it before the first batch.
  void EnqueueOn(device::Submission& submission) { own_.submission = &submission; }
  const GpuModel& model() const { return *model_; }
  device::Gpu& gpu() const { return *gpu_; }
  // The state of a lane. Only while no batch is under way there.
  Batch& BatchOf(uint32_t lane);
  // The stream that Launch gets.
  device::cuda::Stream kernels() const { return streams_[1]; }

  // The backend's part. Called on the submission thread with the context current; may throw
  // std::bad_alloc.
  //
  // Shape checks the shapes of the gathered inputs and sets those of the outputs.
  virtual Status Shape(Batch& batch) = 0;
  // Whether the model reads an input on the device instead of the host. Constant for an instance.
  virtual bool ReadsOnDevice(uint32_t input) const = 0;
  // Enqueues the computation. Inputs and outputs have their addresses. Launch may set the shapes of
  // outputs that Shape could not, and allocates the memory of these outputs.
  virtual Status Launch(Batch& batch, device::cuda::Stream stream) = 0;
  // Sets an output's shape and bytes. UNSUPPORTED if the shape is not known. INTERNAL if its number
  // of rows differs from the batch's.
  Status SetShape(Batch& batch, uint32_t output, std::span<const int64_t> shape) const;
  // Computes the bytes of a tensor. Returns false on overflow or if a dim is not known.
  static bool TensorBytes(std::span<const int64_t> shape, DataType datatype, size_t* bytes);
  // Prefixes the error with the kind and name of the subject, such as a tensor.
  static Status About(const char* what, const std::string& name, const Status& status);

 private:
  class Lane;

  // MemoryCopier for the collector: it allocates pinned memory, to which the CPU copies.
  BlockRef Allocate(MemoryKind kind, int device, size_t size) override;
  bool Copies(MemoryKind, MemoryKind) const override { return false; }
  Status Copy(const Buffer& from, const Buffer& to) override;

  void Enqueue() override;
  Status Allowed() const;
  Status EnqueueBatch(Lane& lane);
  Status GatherInput(Batch& batch, uint32_t index);
  Status EnqueueInput(Input& input, device::cuda::Stream up);
  Status EnqueueParts(Input& input, device::cuda::Stream up);
  // Whether an input has so many parts that a kernel gathers them.
  bool IsForKernel(const Input& input) const;
  // Returns false if there is no pinned memory for the kernel's table.
  StatusOr<bool> GatherByKernel(Input& input, device::cuda::Stream up);
  // Determines whether an output is wanted, and whether it may stay on the device.
  void NoteReaders(Batch& batch, uint32_t index) const;
  Status PlaceOutput(Batch& batch, uint32_t index);
  Status EnqueueOutput(Output& output, device::cuda::Stream down);
  Status TakeTensor(Output& output);
  Status TakeStaging(Output& output);
  Status CopyUp(device::cuda::Address to, const void* from, size_t size,
                device::cuda::Stream stream) const;
  Status CopyAcross(device::cuda::Address to, device::cuda::Address from, size_t size,
                    device::cuda::Stream stream) const;
  // Makes one stream wait for the work enqueued on another.
  Status Follow(device::cuda::Stream stream, device::cuda::Stream other, device::cuda::Event event);
  Status Record(device::cuda::Event event, device::cuda::Stream stream);
  void FreeStreams();
  // Takes an idle lane and chooses its streams. There is one if the instance was free.
  Lane& TakeLane();
  // Chooses the stream for copies back. Call it once the outputs are known.
  device::cuda::Stream DownFor(const Lane& lane) const;
  // Returns a lane. The result is the run that waited for a lane, if any; that run then frees the
  // instance.
  RunRef GiveBack(Lane& lane);
  // The last work of a lane that has its outputs or has failed. The instance may be destroyed
  // afterwards.
  void End(Lane& lane, const Status& status);

  const std::shared_ptr<device::Gpu> gpu_;
  const std::shared_ptr<const GpuModel> model_;
  Own own_;
  // Streams for copies to the device, kernels, and copies back. With a single lane the first two
  // are the same stream; so is the third, unless output_copy_stream is set.
  std::array<device::cuda::Stream, 3> streams_{};
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<device::GatherKernel> gather_;  // null: disabled
  std::atomic<bool> terminated_{false};
  RunRef next_;  // run to enqueue next

  std::mutex mutex_;  // guards the two below
  std::vector<Lane*> idle_;
  RunRef waiting_;  // the run that was enqueued while all lanes were busy
};

}  // namespace tritonts
