#include "gpu_watch.h"

#include <condition_variable>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "cuda.h"
#include "engine/base/exit.h"

namespace tritonts::device {

struct GpuWatch::State {
  std::vector<std::string> uuids;
  std::string file;
  std::chrono::milliseconds interval{0};

  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  bool stopping = false;
  bool calling = false;  // the thread is in a call of the library
  uint64_t looks = 0;
  std::vector<GpuSample> samples;
  std::string fault;
};

namespace {

// Short enough that a std::string holds it without an allocation.
constexpr const char* kNoMemory = "no memory";

struct SharedWatch {
  std::mutex mutex;  // guards watch
  std::weak_ptr<GpuWatch> watch;
};

// Never destroyed, because threads may outlive static destructors.
SharedWatch& Shared() {
  static auto* const shared = new SharedWatch();
  return *shared;
}

// The watch thread's own state of the GPUs.
class Watcher {
 public:
  // Returns why no samples are possible; "": they are.
  std::string Open(const std::string& file, const std::vector<std::string>& uuids) {
    auto nvml = Nvml::Open(file);
    if (!nvml.ok()) return nvml.status().message();
    nvml_ = nvml.value();
    for (const std::string& uuid : uuids) {
      // A GPU that the library does not know yields empty samples.
      auto gpu = nvml_->Find(uuid);
      gpus_.push_back(gpu.ok() ? gpu.value() : nullptr);
    }
    first_joules_.resize(gpus_.size());
    return "";
  }
  std::vector<GpuSample> Look() {
    std::vector<GpuSample> seen(gpus_.size());
    for (size_t i = 0; i < gpus_.size(); i++) {
      if (!gpus_[i]) continue;
      seen[i] = nvml_->Sample(gpus_[i]);
      auto& joules = seen[i].energy_joules;
      if (!joules) continue;
      if (!first_joules_[i]) first_joules_[i] = joules;
      *joules -= *first_joules_[i];
    }
    return seen;
  }

 private:
  std::shared_ptr<const Nvml> nvml_;
  std::vector<Nvml::Gpu*> gpus_;  // by id; null: unknown
  std::vector<std::optional<double>> first_joules_;
};

}  // namespace

GpuWatch::GpuWatch(std::vector<std::string> uuids, std::string file,
                   std::chrono::milliseconds interval)
    : state_(std::make_shared<State>()) {
  state_->uuids = std::move(uuids);
  state_->file = std::move(file);
  state_->interval = interval;
  if (!thread_.Start([state = state_] { Run(*state); })) {
    std::lock_guard lock(state_->mutex);
    state_->fault = "the system has no thread to watch the GPUs";
  }
}

GpuWatch::~GpuWatch() {
  bool calling = false;
  {
    std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    calling = state_->calling;
  }
  state_->changed.notify_all();
  if (!thread_.joinable()) return;
  if (calling) {
    thread_.Detach();
  } else {
    thread_.Join();
  }
}

std::shared_ptr<GpuWatch> GpuWatch::Share(std::chrono::milliseconds interval) {
  const CudaDevices* known = KnownCudaDevices();
  if (!known || known->devices.empty()) return nullptr;
  std::lock_guard lock(Shared().mutex);
  auto watch = Shared().watch.lock();
  if (!watch) {
    std::vector<std::string> uuids;
    for (const CudaDevice& device : known->devices) uuids.push_back(device.uuid);
    watch = std::make_shared<GpuWatch>(std::move(uuids), Nvml::kFile, interval);
    Shared().watch = watch;
  }
  return watch;
}

std::vector<GpuSample> GpuWatch::Latest() {
  std::shared_ptr<GpuWatch> watch;
  {
    std::lock_guard lock(Shared().mutex);
    watch = Shared().watch.lock();
  }
  return watch ? watch->samples() : std::vector<GpuSample>();
}

std::vector<GpuSample> GpuWatch::samples() const {
  std::lock_guard lock(state_->mutex);
  return state_->samples;
}

std::string GpuWatch::fault() const {
  std::lock_guard lock(state_->mutex);
  return state_->fault;
}

void GpuWatch::AwaitLooks(uint64_t count) const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->looks >= count || !state_->fault.empty(); });
}

void GpuWatch::Run(State& state) {
  platform::NameThread("gpu-watch");
  bool lacks_memory = false;  // of the last calls
  // Runs calls of the library. Returns false if the watch ends.
  const auto calling = [&](const auto& calls) {
    {
      std::lock_guard lock(state.mutex);
      if (state.stopping) return false;
      state.calling = true;
    }
    lacks_memory = false;
    RuntimeCall call;
    const bool allowed = call.allowed();
    try {
      if (allowed) calls();
    } catch (const std::bad_alloc&) {
      lacks_memory = true;
    }
    std::lock_guard lock(state.mutex);
    state.calling = false;
    return allowed && !state.stopping;
  };
  Watcher watcher;
  std::string fault;
  if (!calling([&] { fault = watcher.Open(state.file, state.uuids); })) return;
  if (lacks_memory) fault = kNoMemory;
  if (!fault.empty()) {
    std::lock_guard lock(state.mutex);
    state.fault = std::move(fault);
    state.changed.notify_all();
    return;
  }
  std::vector<GpuSample> seen;
  while (calling([&] { seen = watcher.Look(); })) {
    std::unique_lock lock(state.mutex);
    if (!lacks_memory) state.samples = std::move(seen);  // else the next look may have memory
    state.looks++;
    state.changed.notify_all();
    if (state.changed.wait_for(lock, state.interval, [&] { return state.stopping; })) return;
  }
}

}  // namespace tritonts::device
