#include "contract_backend.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/batch/collector.h"
#include "fake_device.h"

namespace tritonts::test {

namespace {

// A model's worker threads. They run tasks in no particular order.
class Workers {
 public:
  Workers() {
    for (int i = 0; i < 2; i++) threads_.emplace_back([this] { Work(); });
  }
  ~Workers() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void Add(std::function<void()> task) {
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      auto task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

// Blocks Execute until all requests of its run are done.
class Latch {
 public:
  explicit Latch(size_t count) : left_(count) {}
  void Arrive() {
    std::lock_guard lock(mutex_);
    if (--left_ == 0) changed_.notify_all();
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;  // guards left_
  std::condition_variable changed_;
  size_t left_;
};

struct Shared {
  FakeDevice device;
  Workers workers;
  // The positions of tensors. Set before the first run.
  uint32_t way = 1;
  std::optional<uint32_t> kept;
  std::optional<uint32_t> strings;
};

// The inputs of a batch.
struct Inputs {
  Gathered x;
  std::vector<int64_t> counts;  // elements of x, by request
  Gathered ways;
};

class ContractInstance final : public Instance {
 public:
  ContractInstance(std::shared_ptr<Shared> shared, bool is_asynchronous)
      : shared_(std::move(shared)), asynchronous_(is_asynchronous) {}

  bool asynchronous() const override { return asynchronous_; }
  MemoryCopier* memory() override { return &shared_->device; }

  void Execute(Run& run) override {
    const uint32_t frees = runs_++ % 3;
    if (frees == 0) run.InstanceFree();
    run.MarkInputsReady();
    const auto latch = std::make_shared<Latch>(run.requests().size());
    const bool apart = asynchronous_;
    const bool later = apart || frees == 1;
    if (!later) {
      RespondEach(&run, latch);
    } else {
      // This task needs no reference: its requests keep the run and its instance alive. Once they
      // are done, neither may be touched.
      shared_->workers.Add([this, latch, apart, frees, held = &run] {
        if (apart && frees == 1) held->InstanceFree();
        // This task needs a reference: its requests may be done before InstanceFree is called.
        const RunRef reference(*held);
        RespondEach(held, latch);
        if (apart && frees == 2) reference->InstanceFree();
      });
    }
    if (!apart) latch->Wait();
  }

 private:
  void RespondEach(Run* run, const std::shared_ptr<Latch>& latch) {
    Inputs inputs;
    const Status gathered = GatherInputs(run, &inputs);
    run->MarkComputed();
    DeclareStrings(run);
    const auto count = static_cast<uint32_t>(run->requests().size());
    for (uint32_t i = 0; i < count; i++) {
      if (gathered.ok()) {
        RespondTo(run, i, inputs, latch);
      } else {
        run->Respond(i, gathered);
        latch->Arrive();
      }
    }
  }

  Status GatherInputs(Run* run, Inputs* inputs) {
    if (Status status = GatherRagged(*run, 0, &inputs->x, &inputs->counts); !status.ok()) {
      return status;
    }
    if (Status status = Gather(*run, shared_->way, true, &inputs->ways); !status.ok())
      return status;
    const size_t count = run->requests().size();
    const size_t rows = run->total_batch_size();
    if (inputs->counts.size() == count && inputs->ways.buffer.size == rows * sizeof(int32_t)) {
      return Status::Ok();
    }
    return Status::Internal("the gathered inputs have another size");
  }

  // Each response takes its rows.
  void DeclareStrings(Run* run) {
    if (!shared_->strings) return;
    static constexpr int64_t kTail[] = {1};
    std::string text;
    std::vector<size_t> offsets{0};
    for (size_t row = 0; row < run->total_batch_size(); row++) {
      text += TextOfRow(row);
      offsets.push_back(text.size());
    }
    const BlockRef block = run->pool().Acquire(text.size() + sizeof(size_t) * (offsets.size() + 1));
    // The offsets must stay valid until the last response, too.
    const size_t past = (text.size() + sizeof(size_t) - 1) / sizeof(size_t);
    auto* const kept_offsets = static_cast<size_t*>(block->data()) + past;
    std::memcpy(block->data(), text.data(), text.size());
    std::copy(offsets.begin(), offsets.end(), kept_offsets);
    run->SetRaggedOutput(*shared_->strings, DataType::kBytes, kTail, block->data(),
                         {kept_offsets, offsets.size()}, block.get());
  }

  // Declares the output that the engine keeps.
  void DeclareKept(Run* run, uint32_t position) {
    if (!shared_->kept) return;
    static constexpr int64_t kShape[] = {1, 1};
    static constexpr float kNext = 1;
    run->SetRequestOutput(position, *shared_->kept, DataType::kFp32, kShape, &kNext, sizeof(kNext),
                          nullptr);
  }

  static Buffer BytesOf(Run* run, uint32_t position, uint32_t index) {
    const Request& request = *run->requests()[position];
    return request.chunk(*run->input(position, index));
  }

  // The caller holds the run.
  void RespondTo(Run* run, uint32_t position, const Inputs& inputs,
                 const std::shared_ptr<Latch>& latch) {
    auto* asked = static_cast<char*>(BytesOf(run, position, shared_->way).data);
    int32_t number = 0;
    std::memcpy(&number, asked, sizeof(number));
    switch (static_cast<Way>(number % 16)) {
      case Way::kStreams:
        for (const bool final : {false, false, true}) Echo(run, position, final);
        break;
      case Way::kStreamsAndFails:
        Echo(run, position, false);
        run->Respond(position, Status::Internal("an injected failure"));
        break;
      case Way::kGoesRound:
        if (number < 16) {
          Echo(run, position, true);
        } else {
          number -= 16;
          std::memcpy(asked, &number, sizeof(number));
          run->Reschedule(position);
        }
        break;
      case Way::kOtherThread:
        Echo(run, position, false);
        shared_->workers.Add([this, run, position, latch] {
          Echo(run, position, true);
          latch->Arrive();
        });
        return;
      case Way::kDevice:
        Echo(run, position, true, MemoryKind::kDevice);
        break;
      case Way::kGathers:
        EchoGathered(run, position, inputs);
        break;
      case Way::kReleases:
        EchoReleased(run, position);
        break;
      case Way::kLate: {
        // Captured before the request is done. Afterwards the run may be done and the instance
        // destroyed.
        const auto ended = std::make_shared<std::atomic<bool>>(false);
        shared_->workers.Add([position, ended, late = RunRef(*run)] {
          while (!*ended) std::this_thread::yield();
          late->Respond(position, Status::Internal("a late response"));
          late->Respond(position, Status::Ok(), false);
          late->Release(position);
        });
        Echo(run, position, true);
        *ended = true;
        break;
      }
      default:
        Echo(run, position, true);
    }
    latch->Arrive();
  }

  void Echo(Run* run, uint32_t position, bool final, MemoryKind kind = MemoryKind::kHost) {
    const InputTensor& input = *run->input(position, 0);
    const std::vector<int64_t> shape(input.shape.begin(), input.shape.end());
    auto place = run->Output(position, 0, input.datatype, shape, kind);
    Status status = place.status();
    DeclareKept(run, position);
    if (status.ok()) status = CopyBytes(BytesOf(run, position, 0), place.value(), run->memory());
    run->Respond(position, status, final || !status.ok());
  }

  void EchoGathered(Run* run, uint32_t position, const Inputs& inputs) {
    const InputTensor& input = *run->input(position, 0);
    const std::vector<int64_t> shape(input.shape.begin(), input.shape.end());
    size_t before = 0;
    for (uint32_t i = 0; i < position; i++) before += static_cast<size_t>(inputs.counts[i]);
    const Buffer& all = inputs.x.buffer;
    const char* const own = static_cast<char*>(all.data) + before * ByteSize(input.datatype);
    DeclareKept(run, position);
    run->SetRequestOutput(position, 0, input.datatype, shape, own, input.byte_size(),
                          all.owner.get());
    run->Respond(position, Status::Ok());
  }

  void EchoReleased(Run* run, uint32_t position) {
    const InputTensor& input = *run->input(position, 0);
    const DataType datatype = input.datatype;
    const std::vector<int64_t> shape(input.shape.begin(), input.shape.end());
    const BlockRef copy = run->pool().Acquire(input.byte_size());
    std::memcpy(copy->data(), BytesOf(run, position, 0).data, input.byte_size());
    const size_t size = input.byte_size();
    run->Release(position);
    DeclareKept(run, position);
    run->SetRequestOutput(position, 0, datatype, shape, copy->data(), size, copy.get());
    run->Respond(position, Status::Ok());
  }

  const std::shared_ptr<Shared> shared_;
  const bool asynchronous_;
  std::atomic<uint32_t> runs_{0};
};

class ContractModel final : public Model {
 public:
  explicit ContractModel(bool asynchronous) : asynchronous_(asynchronous) {}
  ModelDescription Describe() const override { return {}; }
  Status Configure(const ModelIo& io, std::string_view) override {
    for (uint32_t i = 0; i < io.inputs.size(); i++) {
      if (io.inputs[i].name == "way") shared_->way = i;
    }
    for (uint32_t i = 0; i < io.outputs.size(); i++) {
      if (io.outputs[i].internal) shared_->kept = i;
      if (io.outputs[i].datatype == DataType::kBytes) shared_->strings = i;
    }
    return Status::Ok();
  }
  bool starts_at_once() const override { return true; }
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec&) override {
    return std::unique_ptr<Instance>(new ContractInstance(shared_, asynchronous_));
  }

 private:
  const bool asynchronous_;
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

}  // namespace

StatusOr<std::unique_ptr<Model>> ContractBackend::Load(const ModelSpec& spec) {
  const auto known = spec.settings.find("asynchronous");
  const bool asynchronous = known != spec.settings.end() && known->second == "1";
  return std::unique_ptr<Model>(new ContractModel(asynchronous));
}

}  // namespace tritonts::test
