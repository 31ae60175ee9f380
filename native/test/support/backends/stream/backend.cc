#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include "stream.h"

namespace tritonts {

namespace {

struct StreamOrders {
  uint32_t ahead = 16;
  std::string cancel_file;
  // Positions of the inputs; -1: absent.
  int count = -1;
  int how = -1;
  int size = -1;
  bool batches = false;
};

class Producer;

// The producers that have work, and the thread that does it. Shared by the instance and its
// producers, because a listener may be called late.
class Worker {
 public:
  void Add(std::shared_ptr<Producer> producer) {
    {
      std::lock_guard lock(mutex_);
      ready_.push_back(std::move(producer));
    }
    changed_.notify_one();
  }
  // Adds a producer after a short delay.
  void AddLater(std::shared_ptr<Producer> producer) {
    std::lock_guard lock(mutex_);
    later_.push_back(std::move(producer));
  }
  // Adds a producer that waits for a caller; `Terminate` makes it continue.
  void Wait(std::weak_ptr<Producer> producer) {
    std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [](const auto& one) { return one.expired(); });
    waiting_.push_back(std::move(producer));
  }
  bool terminated() {
    std::lock_guard lock(mutex_);
    return terminated_;
  }
  void Terminate() {
    {
      std::lock_guard lock(mutex_);
      terminated_ = true;
      for (const std::weak_ptr<Producer>& one : waiting_) {
        if (auto producer = one.lock()) ready_.push_back(std::move(producer));
      }
      waiting_.clear();
    }
    changed_.notify_one();
  }
  void Stop() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_one();
  }
  void Work();

 private:
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Producer>> ready_;
  std::vector<std::shared_ptr<Producer>> later_;
  std::vector<std::weak_ptr<Producer>> waiting_;
  bool terminated_ = false;
  bool stopped_ = false;
};

// Sends the responses to one request. Used only on its worker's thread, except OnRead.
class Producer final : public ReadListener, public std::enable_shared_from_this<Producer> {
 public:
  Producer(Run& run, uint32_t position, const StreamOrders& orders, std::shared_ptr<Worker> worker)
      : orders_(orders), worker_(std::move(worker)), run_(run), position_(position) {
    const Request& request = *run.requests()[position];
    count_ = Read(request, orders.count, 0);
    how_ = static_cast<StreamEnd>(Read(request, orders.how, 0));
    const int32_t size = Read(request, orders.size, 1);
    values_.resize(static_cast<size_t>(std::max(size, 0)));
    if (orders.batches) shape_.push_back(request.header->batch_size);
    shape_.push_back(size);
  }

  void OnRead() override { worker_->Add(shared_from_this()); }

  void Go() {
    while (!ended_) {
      if (worker_->terminated()) return End(Status::Cancelled("the run was asked to end"));
      const std::optional<Unread> unread = run_->UnreadOf(position_);
      if (!unread) {
        if (!orders_.cancel_file.empty()) std::ofstream(orders_.cancel_file).put('\n');
        return End(Status::Cancelled("nobody reads"));
      }
      if (how_ == StreamEnd::kMidst && sent_ == 0) {
        how_ = StreamEnd::kApart;
        run_->Respond(position_, Status::Internal("an error in the midst"), false);
        continue;
      }
      if (sent_ == count_) return Finish();
      if (how_ != StreamEnd::kGreedy && unread->responses >= orders_.ahead) {
        worker_->Wait(weak_from_this());
        if (run_->AwaitRead(position_, orders_.ahead / 2, shared_from_this())) return;
        continue;
      }
      SendOne();
    }
  }

 private:
  static int32_t Read(const Request& request, int index, int32_t absent) {
    const InputTensor* input = index < 0 ? nullptr : request.input(static_cast<uint32_t>(index));
    if (!input || input->byte_size() < sizeof(int32_t)) return absent;
    int32_t value = 0;
    std::memcpy(&value, request.chunk(*input).data, sizeof(value));
    return value;
  }

  void SendOne() {
    std::fill(values_.begin(), values_.end(), sent_);
    const size_t bytes = values_.size() * sizeof(int32_t);
    // The caller keeps a large output, so it needs a block.
    BlockRef block;
    const void* data = values_.data();
    if (bytes >= size_t{1} << 16) {
      block = run_->pool().Acquire(bytes);
      if (!block) return End(Status::Unavailable(Reason::kNoMemory, "no memory"));
      std::memcpy(block->data(), data, bytes);
      data = block->data();
    }
    run_->SetRequestOutput(position_, 0, DataType::kInt32, shape_, data, bytes, block.get());
    sent_++;
    ended_ = how_ == StreamEnd::kLast && sent_ == count_;
    run_->Respond(position_, Status::Ok(), ended_);
  }

  void Finish() {
    if (how_ == StreamEnd::kOpen) return worker_->AddLater(shared_from_this());
    if (how_ == StreamEnd::kFails) return End(Status::Internal("an injected failure"));
    ended_ = true;
    run_->EndResponses(position_);
  }

  void End(const Status& status) {
    ended_ = true;
    run_->Respond(position_, status);
  }

  const StreamOrders& orders_;
  const std::shared_ptr<Worker> worker_;
  const RunRef run_;
  const uint32_t position_;
  int32_t count_ = 0;
  StreamEnd how_ = StreamEnd::kLast;
  std::vector<int32_t> values_;
  std::vector<int64_t> shape_;
  int32_t sent_ = 0;
  bool ended_ = false;
};

void Worker::Work() {
  std::unique_lock lock(mutex_);
  while (!stopped_) {
    if (ready_.empty()) {
      changed_.wait_for(lock, std::chrono::milliseconds(later_.empty() ? 100 : 1));
      std::move(later_.begin(), later_.end(), std::back_inserter(ready_));
      later_.clear();
      continue;
    }
    const std::shared_ptr<Producer> producer = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    producer->Go();
    lock.lock();
  }
}

class StreamInstance final : public Instance {
 public:
  explicit StreamInstance(const StreamOrders& orders)
      : orders_(orders), thread_([worker = worker_] { worker->Work(); }) {}
  ~StreamInstance() override {
    worker_->Stop();
    thread_.join();
  }

  void Execute(Run& run) override {
    run.MarkInputsReady();
    run.MarkComputed();
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      worker_->Add(std::make_shared<Producer>(run, i, orders_, worker_));
    }
  }
  void Terminate() override { worker_->Terminate(); }

 private:
  const StreamOrders& orders_;  // owned by the model
  const std::shared_ptr<Worker> worker_ = std::make_shared<Worker>();
  std::thread thread_;
};

class StreamModel final : public Model {
 public:
  explicit StreamModel(StreamOrders orders) : orders_(std::move(orders)) {}
  ModelDescription Describe() const override { return {}; }
  Status Configure(const ModelIo& io, std::string_view) override {
    orders_.batches = io.max_batch_size > 0;
    for (size_t i = 0; i < io.inputs.size(); i++) {
      const std::string& name = io.inputs[i].name;
      int* place = name == "count" ? &orders_.count : name == "how" ? &orders_.how : &orders_.size;
      *place = static_cast<int>(i);
    }
    return Status::Ok();
  }
  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec&) override {
    return std::unique_ptr<Instance>(new StreamInstance(orders_));
  }

 private:
  StreamOrders orders_;
};

}  // namespace

StatusOr<std::unique_ptr<Model>> StreamBackend::Load(const ModelSpec& spec) {
  StreamOrders orders;
  const auto ahead = spec.settings.find("ahead");
  if (ahead != spec.settings.end()) {
    const std::string& text = ahead->second;
    std::from_chars(text.data(), text.data() + text.size(), orders.ahead);
  }
  const auto file = spec.settings.find("cancel_file");
  if (file != spec.settings.end()) orders.cancel_file = file->second;
  return std::unique_ptr<Model>(new StreamModel(std::move(orders)));
}

Backend* stream::MakeBackend() {
  return new StreamBackend();
}

}  // namespace tritonts
