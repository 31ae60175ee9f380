#include "gpu_regions.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "cuda.h"
#include "engine/memory/memory_copier.h"
#include "gpu.h"

namespace tritonts::device {

namespace {

constexpr auto kPause = std::chrono::milliseconds(10);  // until there may be memory again

cuda::Address AddressOf(const Buffer& buffer) {
  return reinterpret_cast<cuda::Address>(buffer.data);
}

}  // namespace

// A GPU of which memory is open. Only the thread creates and destroys it, and counts its memory.
class GpuRegions::OpenGpu final : public MemoryCopier {
 public:
  static StatusOr<std::unique_ptr<OpenGpu>> Make(int device) {
    const CudaDevices& found = FindCudaDevices();
    if (!found.driver) return Status::Unsupported(found.reason);
    const auto count = static_cast<int>(found.devices.size());
    if (device < 0 || device >= count) {
      return Status::InvalidArg("there is no GPU " + std::to_string(device) + ", but " +
                                std::to_string(count) + " from 0 on");
    }
    auto gpu = Gpu::Open(found.driver, device);
    if (!gpu.ok()) return gpu.status();
    auto made = std::make_unique<OpenGpu>(gpu.take());
    const Gpu::Current current(made->gpu());
    if (!current.status().ok()) return current.status();
    auto stream = made->gpu().MakeStream();
    if (!stream.ok()) return stream.status();
    made->stream_ = stream.value();
    return made;
  }
  explicit OpenGpu(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  ~OpenGpu() override {
    if (!stream_) return;
    const Gpu::Current current(*gpu_);
    // Calls on a lost device fail and free nothing. The process goes on without the device.
    (void)gpu_->call().StreamDestroy(stream_);
  }

  Gpu& gpu() const { return *gpu_; }
  size_t memories = 0;

  BlockRef Allocate(MemoryKind, int, size_t) override { return {}; }
  bool Copies(MemoryKind from, MemoryKind to) const override {
    return from == MemoryKind::kDevice || to == MemoryKind::kDevice;
  }
  Status Copy(const Buffer& from, const Buffer& to) override {
    // A lost device may hang in calls.
    if (Status fault = gpu_->fault(); !fault.ok()) return fault;
    for (const Buffer& end : {from, to}) {
      if (!IsHostMemory(end.kind) && end.device != gpu_->id()) {
        return Status::Unsupported("cannot copy from " + NameOf(from.kind, from.device) + " to " +
                                   NameOf(to.kind, to.device));
      }
    }
    const Gpu::Current current(*gpu_);
    Status status = current.status();
    if (status.ok()) status = Enqueue(from, to);
    if (status.ok()) {
      status = gpu_->Check(gpu_->call().StreamSynchronize(stream_), "cuStreamSynchronize");
    }
    return status;
  }

 private:
  Status Enqueue(const Buffer& from, const Buffer& to) const {
    const cuda::Functions& call = gpu_->call();
    if (IsHostMemory(from.kind)) {
      return gpu_->Check(call.MemcpyHtoDAsync(AddressOf(to), from.data, from.size, stream_),
                         "cuMemcpyHtoDAsync");
    }
    if (IsHostMemory(to.kind)) {
      return gpu_->Check(call.MemcpyDtoHAsync(to.data, AddressOf(from), from.size, stream_),
                         "cuMemcpyDtoHAsync");
    }
    return gpu_->Check(call.MemcpyDtoDAsync(AddressOf(to), AddressOf(from), from.size, stream_),
                       "cuMemcpyDtoDAsync");
  }

  const std::shared_ptr<Gpu> gpu_;
  cuda::Stream stream_ = nullptr;
};

struct GpuRegions::State {
  struct Call {
    std::function<Status(State&, BlockRef*)> work;
    Done done;
  };

  std::mutex mutex;  // guards the next five
  std::condition_variable changed;
  std::deque<Call> calls;
  Memory* unused = nullptr;  // to be closed, a list
  bool end = false;
  enum class Thread { kRuns, kLingers, kEnded } thread = Thread::kRuns;

  std::map<int, std::unique_ptr<OpenGpu>> gpus;  // of the thread

  void Add(Call call);
  void Run();
  void Do(const Call& call, BlockRef* opened) noexcept;
  StatusOr<BlockRef> OpenMemory(const std::shared_ptr<State>& self, int device,
                                const cuda::IpcHandle& handle, uint64_t size);
  void CloseIfUnused(int device);
  void Close(Memory* memory);
};

// Disposing needs no memory: it links the block.
class GpuRegions::Memory final : public Block {
 public:
  Memory(std::shared_ptr<State> state, OpenGpu& gpu, cuda::Address address, uint64_t size)
      : Block(reinterpret_cast<void*>(address), static_cast<size_t>(size), MemoryKind::kDevice,
              gpu.gpu().id()),
        state_(std::move(state)),
        gpu_(gpu) {}
  ~Memory() override = default;

  MemoryCopier* copier() const override { return &gpu_; }
  cuda::Address address() const { return reinterpret_cast<cuda::Address>(data()); }
  Memory* next = nullptr;

 private:
  void Dispose() override {
    const std::shared_ptr<State> state = state_;  // outlives the lock
    const std::lock_guard lock(state->mutex);
    next = state->unused;
    state->unused = this;
    state->changed.notify_all();
  }

  const std::shared_ptr<State> state_;
  OpenGpu& gpu_;
};

StatusOr<BlockRef> GpuRegions::State::OpenMemory(const std::shared_ptr<State>& self, int device,
                                                 const cuda::IpcHandle& handle, uint64_t size) {
  auto found = gpus.find(device);
  if (found == gpus.end()) {
    auto made = OpenGpu::Make(device);
    if (!made.ok()) return made.status();
    found = gpus.emplace(device, made.take()).first;
  }
  OpenGpu& open = *found->second;
  Gpu& gpu = open.gpu();
  if (Status fault = gpu.fault(); !fault.ok()) return fault;
  const Gpu::Current current(gpu);
  if (!current.status().ok()) return current.status();
  cuda::Address address = 0;
  Status status = gpu.Check(gpu.call().IpcOpenMemHandle(&address, handle, cuda::kLazyPeerAccess),
                            "cuIpcOpenMemHandle");
  if (!status.ok()) return Status::InvalidArg(status.message());
  cuda::Address begin = 0;
  size_t bytes = 0;
  status =
      gpu.Check(gpu.call().MemGetAddressRange(&begin, &bytes, address), "cuMemGetAddressRange");
  if (status.ok() && size > bytes - (address - begin)) {
    status = Status::InvalidArg("the memory has " + std::to_string(bytes - (address - begin)) +
                                " bytes, and so not " + std::to_string(size));
  }
  Memory* memory = nullptr;
  if (status.ok()) {
    memory = new (std::nothrow) Memory(self, open, address, size);
    if (!memory) status = Status::NoMemory();
  }
  if (!status.ok()) {
    (void)gpu.call().IpcCloseMemHandle(address);
    return status;
  }
  open.memories++;
  return BlockRef::Adopt(memory);
}

void GpuRegions::State::CloseIfUnused(int device) {
  const auto found = gpus.find(device);
  if (found != gpus.end() && found->second->memories == 0) gpus.erase(found);
}

void GpuRegions::State::Close(Memory* memory) {
  const int device = memory->device();
  OpenGpu& open = *gpus.at(device);
  {
    const Gpu::Current current(open.gpu());
    if (current.status().ok()) (void)open.gpu().call().IpcCloseMemHandle(memory->address());
  }
  open.memories--;
  delete memory;
  CloseIfUnused(device);
}

void GpuRegions::State::Do(const Call& call, BlockRef* opened) noexcept {
  const Status status = MakeStatus([&] { return call.work(*this, opened); });
  while (true) {
    try {
      return call.done(status, *opened);
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(kPause);
    }
  }
}

void GpuRegions::State::Run() {
  platform::NameThread("tritonts-region");
  std::unique_lock lock(mutex);
  while (true) {
    changed.wait(lock,
                 [this] { return (end && thread == Thread::kRuns) || unused || !calls.empty(); });
    if (Memory* const memory = unused) {
      unused = memory->next;
      lock.unlock();
      Close(memory);
    } else if (!calls.empty()) {
      Call call = std::move(calls.front());
      calls.pop_front();
      lock.unlock();
      BlockRef opened;
      Do(call, &opened);
    } else {
      // Memory may be in use for longer than its servers, as by a run that hangs.
      if (gpus.empty()) break;
      thread = Thread::kLingers;
      changed.notify_all();
      continue;
    }
    lock.lock();
    if (thread == Thread::kLingers && gpus.empty()) break;
  }
  thread = Thread::kEnded;
  changed.notify_all();
}

void GpuRegions::State::Add(Call call) {
  const std::lock_guard lock(mutex);
  calls.push_back(std::move(call));
  changed.notify_all();
}

std::shared_ptr<GpuRegions> GpuRegions::Share() {
  // Never destroyed, because threads may outlive static destructors.
  static auto* const mutex = new std::mutex();  // guards the other one
  static auto* const shared = new std::weak_ptr<GpuRegions>();
  std::shared_ptr<GpuRegions> made;  // destroyed after the lock
  const std::lock_guard lock(*mutex);
  if (auto known = shared->lock()) return known;
  made.reset(new GpuRegions());
  const auto state = std::make_shared<State>();
  if (!made->thread_.Start([state] { state->Run(); })) return nullptr;
  made->state_ = state;
  *shared = made;
  return made;
}

GpuRegions::~GpuRegions() {
  if (!thread_.joinable()) return;
  std::unique_lock lock(state_->mutex);
  state_->end = true;
  state_->changed.notify_all();
  state_->changed.wait(lock, [this] { return state_->thread != State::Thread::kRuns; });
  const bool lingers = state_->thread == State::Thread::kLingers;
  lock.unlock();
  if (lingers)
    thread_.Detach();
  else
    thread_.Join();
}

void GpuRegions::Open(int device, const cuda::IpcHandle& handle, uint64_t size, Done done) {
  state_->Add(
      {[self = std::weak_ptr(state_), device, handle, size](State& state, BlockRef* opened) {
         auto memory = state.OpenMemory(self.lock(), device, handle, size);
         state.CloseIfUnused(device);
         if (memory.ok()) *opened = memory.take();
         return memory.status();
       },
       std::move(done)});
}

void GpuRegions::Copy(Buffer from, Buffer to, Done done) {
  state_->Add({[from = std::move(from), to = std::move(to)](State&, BlockRef*) {
                 return CopyBytes(from, to);
               },
               std::move(done)});
}

}  // namespace tritonts::device
