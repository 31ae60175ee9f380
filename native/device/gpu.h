// A GPU that models run on: its primary context, two threads, pinned and device memory.
//
// The process has one Gpu a device, which its models share. Work is enqueued by its submission
// thread, because the driver may block there, or by one of a model's own (submission.h). What the
// device has done is finished by the other thread, because the driver's own threads, which tell of
// it, must call nothing of the driver.
//
//   any thread     submission().Submit(job)
//   submission     job.Enqueue: copies, kernels, then Notify(&ticket)
//   driver         the stream has come to the ticket: it is put on a list
//   finishing      ticket.Finish
//
// A ticket that spins is not told of by the driver: the finishing thread asks for its event all the
// time, which is faster by the driver's thread, and takes a core.
//
// The driver does not tell of work that it gives up. So while tickets are open, the finishing
// thread asks for their events from time to time. An error there means that the device is lost for
// this process: all open tickets fail, and so does all later work.
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

  // Follows one batch to its end. Its owner keeps it until Finish was called.
  class Ticket {
   public:
    // Called on the finishing thread, with the context current. It must not throw. `reached_ns` is
    // when it became known that the device is through with it; 0: it is not.
    virtual void Finish(const Status& status, uint64_t reached_ns) = 0;

   protected:
    ~Ticket() = default;
  };

  // Opens device `id` of the driver, or returns the one that is open. Takes as long as creating a
  // context does. Not on a JS thread.
  static StatusOr<std::shared_ptr<Gpu>> Open(std::shared_ptr<const Driver> driver, int id);
  // Joins the threads and frees the memory, which nobody may use any more.
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const cuda::Functions& call() const { return driver_->call(); }
  int id() const { return id_; }
  // As Driver::Check; names the device.
  Status Check(cuda::Result result, const char* function) const;

  // Makes the context current on the calling thread, and the one before that at the end. Meanwhile
  // its calls go on where another thread captures a graph: ONNX Runtime captures in the mode that
  // has the driver refuse what others allocate or ask of events, which would look like a lost
  // device.
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
    int capture_mode_ = cuda::kCaptureRelaxed;  // then the one before
  };

  // The thread that most work is enqueued by. A model whose runtime may block has its own.
  Submission& submission() { return submission_; }
  // Has the ticket finished when all that was put on the stream until now is done. `event` is the
  // caller's, for this stream. For a submission thread. If it fails, Finish is not called.
  enum class Await { kToldByDriver, kSpinning };
  Status Notify(Ticket* ticket, cuda::Event event, cuda::Stream stream,
                Await await = Await::kToldByDriver);
  // A stream that waits for no other. Needs the context current.
  enum class Priority { kDefault, kMost, kLeast };
  StatusOr<cuda::Stream> MakeStream(Priority priority = Priority::kDefault) const;
  // Waits for a stream whose batch could not be enqueued wholly. Rare. For a thread that may wait,
  // with the context current.
  void Drain(cuda::Stream stream);
  // Why it takes no work any more; ok: it does.
  Status fault() const;
  // Whether it takes none, for who asks often. Lives as long as the GPU.
  const std::atomic<bool>& lost() const { return tickets_->lost; }

  // A GPU that takes no work any more.
  struct Lost {
    int id = 0;
    std::string reason;
  };
  // Those that are open. One that its last model has left is not: it may be opened again. Any
  // thread may call it; it does not wait for the driver.
  static std::vector<Lost> AllLost();

  // Host memory that the device copies to and from directly. Where the limit of the process is
  // reached, or the driver has none, it is plain memory, which is slower and counted. Null: there
  // is no memory. Needs the context current, except to drop it.
  BlockRef Pinned(size_t size);
  // The device's memory for tensors.
  DevicePool& memory() { return *memory_; }
  // Device memory for a tensor that others read. The GPU's end waits until it is dropped, which any
  // thread may do. Needs the context current, except for that.
  StatusOr<BlockRef> Tensor(size_t size);
  // Enqueues a copy to this GPU of a part of another one's tensor. Needs the context current.
  Status CopyFromPeer(cuda::Address to, const Buffer& from, cuda::Stream stream);

  // The limits of the pools of the process, and Triton's defaults for them. What is over a new
  // limit stays until it is given back. Any thread may call these, also before a GPU is open; they
  // do not wait for the driver.
  static constexpr size_t kMostPinnedBytes = size_t{256} << 20;
  static constexpr size_t kMostDeviceBytes = size_t{64} << 20;
  static void LimitPinned(size_t bytes);
  // Of one GPU; there are limits for the first kLimits.
  static constexpr int kLimits = 64;
  static void LimitDevice(int id, size_t bytes);
  struct PoolCounts {
    uint64_t limit_bytes = 0;
    uint64_t used_bytes = 0;    // by tensors
    uint64_t plain_blocks = 0;  // how often memory without a pool had to do
  };
  static PoolCounts PinnedCounts();
  static PoolCounts DeviceCounts(int id);
  static uint64_t plain_blocks() { return PinnedCounts().plain_blocks; }

 private:
  struct Entry;  // of an open ticket
  // Open tickets. Shared with their entries, because the driver may come to one later than the GPU
  // is gone, if the device was lost.
  struct Tickets {
    std::mutex mutex;  // guards all
    std::condition_variable changed;
    std::vector<std::shared_ptr<Entry>> open;
    std::vector<std::shared_ptr<Entry>> reached;  // has capacity for all that are open
    size_t spinning = 0;                          // of those that are open
    const Entry* asked = nullptr;                 // the driver is asked for its event now
    bool end = false;
    Status fault;
    std::atomic<bool> lost{false};  // there is a fault
    int id = 0;                     // the GPU's; does not change

    // Takes an entry from those that are open. False: it is not among them.
    bool TakeOpen(const std::shared_ptr<Entry>& entry);
    // Gives all open tickets up. With the lock.
    void Lose(const Status& status);
  };
  class TensorBlock;
  // The tensors that others have. Shared with these.
  struct Tensors {
    std::mutex mutex;  // guards both
    std::condition_variable changed;
    size_t count = 0;
  };
  void AwaitTensors();
  // Lets this GPU use the memory of another one directly, if the driver can.
  void ReachPeer(const Gpu& peer);
  class PinnedBlock;
  // Pinned memory that nobody uses: lists by size, linked through the blocks, so that giving one
  // back needs no memory. Shared with the blocks.
  struct Pool {
    static constexpr size_t kSizes = 64;
    std::mutex mutex;  // guards idle
    std::array<PinnedBlock*, kSizes> idle{};
  };

  Gpu(std::shared_ptr<const Driver> driver, int id) : driver_(std::move(driver)), id_(id) {}
  Status Start();
  void RunFinishing();
  // Looks at the events of open tickets, and gives all up if the device is lost. With the lock,
  // which is free while the driver is asked; so with the two below.
  void Look(std::unique_lock<std::mutex>& lock);
  // Looks for spinning tickets that are reached.
  void Spin(std::unique_lock<std::mutex>& lock);
  cuda::Result Ask(std::unique_lock<std::mutex>& lock, const Entry& entry);
  // Pinned memory within the limit, if need be after what is idle. Null: there is none.
  void* AllocatePinned(size_t size);
  // Gives the driver the largest block that nobody uses. False: there is none.
  bool FreeLargestIdle();
  void FreePool();
  static void OnReached(void* entry);
  // For AllLost (gpu_lost.cc).
  static void NoteLost(const Tickets& tickets);
  static void ForgetLost(const Tickets& tickets);
  // A GPU has left its context.
  static void NoteEnd(int id);
  static uint64_t NextNumber();

  const std::shared_ptr<const Driver> driver_;
  const int id_;
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
  const std::shared_ptr<Pool> pool_ = std::make_shared<Pool>();
  std::unique_ptr<DevicePool> memory_;
  const std::shared_ptr<Tensors> tensors_ = std::make_shared<Tensors>();
  // Of all GPUs that were opened.
  const uint64_t number_ = NextNumber();
  std::mutex peers_mutex_;    // guards the next one
  std::set<uint64_t> peers_;  // the numbers of the GPUs that were to be reached

  const std::shared_ptr<Tickets> tickets_ = std::make_shared<Tickets>();

  Submission submission_;
  platform::Thread finishing_;
};

// Device memory for one tensor, which grows as asked for. All functions need the context current.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  DeviceMemory(DeviceMemory&& other) noexcept
      : gpu_(std::move(other.gpu_)), range_(std::exchange(other.range_, {})) {}
  DeviceMemory& operator=(DeviceMemory&&) = delete;
  ~DeviceMemory() { Free(); }

  // Makes it at least this large. What it held is gone then. Nothing on the device may use it.
  Status Reserve(size_t size);
  cuda::Address address() const { return range_.address; }
  size_t size() const { return range_.size; }

 private:
  void Free();
  std::shared_ptr<Gpu> gpu_;
  DevicePool::Range range_;
};

}  // namespace tritonts::device
