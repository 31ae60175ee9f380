// A GPU on which models run: its primary context, two threads, pinned and device memory.
//
// The process has one Gpu per device, shared by its models. Work is enqueued on the submission
// thread, or on a model's own (submission.h), because the driver may block there. Completed work is
// handled on the finishing thread: the driver reports completion on its own threads, which must not
// call the driver.
//
//   any thread     submission().Submit(job)
//   submission     job.Enqueue: copies, kernels, then Notify(&ticket)
//   driver         the stream has reached the ticket, which is put on a list
//   finishing      ticket.Finish
//
// The driver does not report spinning tickets: the finishing thread polls their events
// continuously. That avoids the latency of the driver's thread, but occupies a core.
//
// The driver does not report work that it abandons. So while tickets are open, the finishing thread
// queries their events from time to time. An error there means that the process has lost the
// device: all open tickets fail, and so does all later work.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../platform/thread.h"
#include "device_pool.h"
#include "driver.h"
#include "engine/memory/buffer.h"
#include "submission.h"

namespace tritonts::device {

class Gpu : public std::enable_shared_from_this<Gpu> {
 public:
  using Job = Submission::Job;

  // Follows one batch until it completes. The owner keeps it until Finish was called.
  class Ticket {
   public:
    // Called on the finishing thread, with the context current. Must not throw. `reached_ns` is the
    // time when completion became known; 0: the work did not complete.
    virtual void Finish(const Status& status, uint64_t reached_ns) = 0;

   protected:
    ~Ticket() = default;
  };

  // Opens device `id` of the driver, or returns the open Gpu. Creates a context, which takes long.
  // Not for JS threads.
  static StatusOr<std::shared_ptr<Gpu>> Open(std::shared_ptr<const Driver> driver, int id);
  // Joins the threads and frees the memory, which must be unused by then.
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const cuda::Functions& call() const { return driver_->call(); }
  int id() const { return id_; }
  // Like Driver::Check; the error names the device.
  Status Check(cuda::Result result, const char* function) const;

  // Makes the context current on the calling thread, and restores the previous context in the
  // destructor. Meanwhile a capture on another thread does not make this thread's calls fail. ONNX
  // Runtime captures in a mode in which the driver refuses allocations and event queries of other
  // threads, which would look like a lost device.
  class Current {
   public:
    explicit Current(const Gpu& gpu);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;
    const Status& status() const { return status_; }

   private:
    const Gpu& gpu_;
    Status status_;
    int capture_mode_ = cuda::kCaptureRelaxed;  // afterwards the previous mode
  };

  // The thread that enqueues most work. A model whose runtime may block has its own.
  Submission& submission() { return submission_; }
  // Finishes the ticket when all work enqueued on the stream so far has completed. `event` belongs
  // to the caller, for this stream. For a submission thread. If it fails, Finish is not called.
  enum class Await { kToldByDriver, kSpinning };
  Status Notify(Ticket* ticket, cuda::Event event, cuda::Stream stream,
                Await await = Await::kToldByDriver);
  // Creates a stream that waits for no other. The context must be current.
  enum class Priority { kDefault, kMost, kLeast };
  StatusOr<cuda::Stream> MakeStream(Priority priority = Priority::kDefault) const;
  // Waits for a stream whose batch could be enqueued only in part. Rare. For a thread that may
  // block, with the context current.
  void Drain(cuda::Stream stream);
  // Why the GPU accepts no more work; ok while it does.
  Status fault() const;
  // Whether the GPU is lost, for frequent checks. Lives as long as the GPU.
  const std::atomic<bool>& lost() const { return tickets_->lost; }

  // A GPU that accepts no more work.
  struct Lost {
    int id = 0;
    std::string reason;
  };
  // The lost GPUs that are open. One whose last model was unloaded is not included: it may be
  // opened again. Thread-safe; does not wait for the driver.
  static std::vector<Lost> AllLost();

  // Allocates host memory that the device copies to and from directly. At the process' limit, or if
  // the driver has none, it is plain memory, which is slower; this is counted. Null without memory.
  // The context must be current, but not for releasing the block.
  BlockRef Pinned(size_t size);
  // The pool of device memory for tensors.
  DevicePool& memory() { return *memory_; }
  // Allocates device memory for a tensor that others read. The GPU's destructor waits until the
  // block is released, which may happen on any thread. The context must be current, but not for
  // releasing.
  StatusOr<BlockRef> Tensor(size_t size);
  // Enqueues a copy of part of another GPU's tensor to this GPU. The context must be current.
  Status CopyFromPeer(cuda::Address to, const Buffer& from, cuda::Stream stream);

  // The limits of the process' pools, with Triton's defaults. Memory above a lowered limit stays
  // until it is freed. Thread-safe, also before a GPU is open; does not wait for the driver.
  static constexpr size_t kMostPinnedBytes = size_t{256} << 20;
  static constexpr size_t kMostDeviceBytes = size_t{64} << 20;
  static void LimitPinned(size_t bytes);
  // The limit of one GPU. The first kLimits GPUs have separate limits.
  static constexpr int kLimits = 64;
  static void LimitDevice(int id, size_t bytes);
  struct PoolCounts {
    uint64_t limit_bytes = 0;
    uint64_t used_bytes = 0;    // by tensors
    uint64_t plain_blocks = 0;  // number of allocations that the pool could not serve
  };
  static PoolCounts PinnedCounts();
  static PoolCounts DeviceCounts(int id);
  static uint64_t plain_blocks() { return PinnedCounts().plain_blocks; }

 private:
  struct Entry;  // an open ticket
  // Open tickets. Shared with their entries, because the driver of a lost device may reach an entry
  // after the GPU was destroyed.
  struct Tickets {
    std::mutex mutex;  // guards all members
    std::condition_variable changed;
    std::vector<std::shared_ptr<Entry>> open;
    std::vector<std::shared_ptr<Entry>> reached;  // has capacity for all that are open
    size_t spinning = 0;                          // number of open spinning tickets
    const Entry* asked = nullptr;                 // the entry whose event is being queried
    bool end = false;
    Status fault;
    std::atomic<bool> lost{false};  // whether `fault` is set
    int id = 0;                     // the GPU's; constant

    // Removes an entry from the open ones. Returns false if it is not open.
    bool TakeOpen(const std::shared_ptr<Entry>& entry);
    // Fails all open tickets. Requires the lock.
    void Lose(const Status& status);
  };
  class TensorBlock;
  // The blocks of Tensor that are alive. Shared with these blocks.
  struct Tensors {
    std::mutex mutex;  // guards both
    std::condition_variable changed;
    size_t count = 0;
  };
  void AwaitTensors();
  // Lets this GPU access the memory of another one directly, if the driver can.
  void ReachPeer(const Gpu& peer);
  class PinnedBlock;
  // Idle pinned memory: lists by size, linked through the blocks, so that freeing a block needs no
  // memory. Shared with the blocks.
  struct Pool {
    static constexpr size_t kSizes = 64;
    std::mutex mutex;  // guards idle
    std::array<PinnedBlock*, kSizes> idle{};
  };

  Gpu(std::shared_ptr<const Driver> driver, int id) : driver_(std::move(driver)), id_(id) {}
  Status Start();
  void RunFinishing();
  // Queries the events of open tickets, and fails all tickets if the device is lost. Requires the
  // lock, which is released during driver calls; likewise the two functions below.
  void Look(std::unique_lock<std::mutex>& lock);
  // Looks for spinning tickets whose work has completed.
  void Spin(std::unique_lock<std::mutex>& lock);
  cuda::Result Ask(std::unique_lock<std::mutex>& lock, const Entry& entry);
  // Allocates pinned memory within the limit, freeing idle blocks if necessary. Null on failure.
  void* AllocatePinned(size_t size);
  // Returns the largest idle block to the driver. False if there is none.
  bool FreeLargestIdle();
  void FreePool();
  static void OnReached(void* entry);
  // For AllLost (gpu_lost.cc).
  static void NoteLost(const Tickets& tickets);
  static void ForgetLost(const Tickets& tickets);
  // A GPU has released its context.
  static void NoteEnd(int id);
  static uint64_t NextNumber();

  const std::shared_ptr<const Driver> driver_;
  const int id_;
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
  const std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
  std::unique_ptr<DevicePool> memory_;
  const std::shared_ptr<Tensors> tensors_ = std::make_shared<Tensors>();
  // Unique among all GPUs ever opened.
  const uint64_t number_ = NextNumber();
  std::mutex peers_mutex_;    // guards peers_
  std::set<uint64_t> peers_;  // numbers of the GPUs for which ReachPeer was called

  const std::shared_ptr<Tickets> tickets_ = std::make_shared<Tickets>();

  Submission submission_;
  platform::Thread finishing_;
};

// Device memory for one tensor, which grows on demand. The context must be current for all
// functions.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  DeviceMemory(DeviceMemory&& other) noexcept
      : gpu_(std::move(other.gpu_)), range_(std::exchange(other.range_, {})) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory() { Free(); }

  // Makes it at least this large; the contents are lost. No work on the device may use it.
  Status Reserve(size_t size);
  cuda::Address address() const { return range_.address; }
  size_t size() const { return range_.size; }

 private:
  void Free();
  std::shared_ptr<Gpu> gpu_;
  DevicePool::Range range_;
};

}  // namespace tritonts::device
