// The backend whose models return their inputs, after a delay if one is configured.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "engine/batch/collector.h"
#include "identity.h"
#include "json/json.h"

namespace tritonts {

namespace {

// Inputs of fewer bytes are copied for one output of all requests. That takes less than a response
// each.
constexpr size_t kLargeInput = size_t{16} << 10;

// A week. Delays are sums and products of parameters, and must not overflow.
constexpr uint64_t kMostDelayMs = 604'800'000;

// Reads a parameter of the configuration, if it is there.
Status ReadParameter(const std::string& model, const Json& config, const std::string& key,
                     uint64_t* value) {
  const std::string* text = config.Member("parameters").Member(key).Member("string_value").text();
  if (!text) return Status::Ok();
  const auto result = std::from_chars(text->data(), text->data() + text->size(), *value);
  if (result.ec != std::errc() || result.ptr != text->data() + text->size() ||
      *value > kMostDelayMs) {
    return Status::InvalidArg("model '" + model + "': parameter '" + key +
                              "': expected a whole number from 0 to " +
                              std::to_string(kMostDelayMs) + ", but got '" + *text + "'");
  }
  return Status::Ok();
}

class IdentityInstance final : public Instance {
 public:
  IdentityInstance(std::string model, std::shared_ptr<const ModelIo> io, uint64_t delay_ms)
      : model_(std::move(model)), io_(std::move(io)), delay_ms_(delay_ms) {}

  void Execute(Run& run) override {
    run.MarkInputsReady();
    if (delay_ms_ > 0 && !Delay()) {
      run.RespondAll(Status::Cancelled("model '" + model_ + "': the run was asked to end"));
      return;
    }
    run.MarkComputed();
    const Status status = RespondsTogether(run) ? GiveTogether(run) : GiveEach(run);
    run.RespondAll(status);
    for (Gathered& gathered : gathered_) gathered.buffer = Buffer();
  }

  void Terminate() override {
    {
      std::lock_guard lock(mutex_);
      terminated_ = true;
    }
    terminate_.notify_all();
  }

 private:
  // Whether all inputs consist of rows of equal size, so that one output can answer all requests. A
  // large input in a block is returned as it is, without a copy, and one in a region of shared
  // memory is copied to where the output goes.
  bool RespondsTogether(const Run& run) const {
    if (io_->max_batch_size == 0) return false;
    for (const InputTensor& input : run.inputs(0)) {
      const Buffer& first = input.first_chunks.front();
      if (input.datatype == DataType::kBytes || first.owner) return false;
      if (first.size >= kLargeInput) return false;
    }
    return true;
  }

  Status GiveTogether(Run& run) {
    gathered_.resize(io_->outputs.size());
    for (const InputTensor& input : run.inputs(0)) {
      if (input.index >= io_->outputs.size()) continue;
      Gathered& gathered = gathered_[input.index];
      const Status status = Gather(run, input.index, true, &gathered);
      if (!status.ok()) return status;
      run.SetOutput(input.index, input.datatype, std::span(gathered.shape).subspan(1),
                    gathered.buffer.data, gathered.buffer.size, gathered.buffer.owner.get());
    }
    return Status::Ok();
  }

  Status GiveEach(Run& run) {
    const auto requests = run.requests();
    for (uint32_t position = 0; position < requests.size(); position++) {
      for (const InputTensor& input : run.inputs(position)) {
        if (input.index >= io_->outputs.size()) continue;
        const Status status = Give(run, position, input);
        if (status.ok() || status.code() == Code::kCancelled) continue;
        run.Respond(position, status);
        break;
      }
    }
    return Status::Ok();
  }

  // Returns an input of one request. CANCELLED: the request is done.
  static Status Give(Run& run, uint32_t position, const InputTensor& input) {
    const Request& request = *run.requests()[position];
    const size_t size = input.byte_size();
    const bool texts = input.datatype == DataType::kBytes;
    if (input.first_chunks.size() == 1) {
      const Buffer chunk = request.chunk(input);
      // Memory of no block is copied once in any case: to where the output goes, if that is known.
      if (chunk.owner || texts || size == 0) {
        run.SetRequestOutput(position, input.index, input.datatype, input.shape, chunk.data, size,
                             chunk.owner.get());
        return Status::Ok();
      }
    }
    char* target = nullptr;
    BlockRef block;
    if (texts) {
      block = run.pool().Acquire(size);
      if (!block) return Status::Unavailable(Reason::kNoMemory, "no memory for an output");
      target = static_cast<char*>(block->data());
    } else {
      auto place = run.Output(position, input.index, input.datatype, input.shape);
      if (!place.ok()) return place.status();
      target = static_cast<char*>(place.value().data);
    }
    for (size_t i = 0; i < input.first_chunks.size(); i++) {
      const Buffer chunk = request.chunk(input, i);
      // The place of an output may be in the region that the input is in.
      if (chunk.size > 0) std::memmove(target, chunk.data, chunk.size);
      target += chunk.size;
    }
    if (texts) {
      run.SetRequestOutput(position, input.index, input.datatype, input.shape, block->data(), size,
                           block.get());
    }
    return Status::Ok();
  }

  // Waits for the configured delay. Returns false if Terminate was called meanwhile.
  bool Delay() {
    std::unique_lock lock(mutex_);
    return !terminate_.wait_for(lock, std::chrono::milliseconds(delay_ms_),
                                [this] { return terminated_; });
  }

  const std::string model_;
  const std::shared_ptr<const ModelIo> io_;
  const uint64_t delay_ms_;
  std::vector<Gathered> gathered_;  // by output, for the current run
  std::mutex mutex_;                // guards terminated_
  std::condition_variable terminate_;
  bool terminated_ = false;
};

class IdentityModel final : public Model {
 public:
  explicit IdentityModel(std::string name) : name_(std::move(name)) {}

  // Empty: the backend accepts any inputs that the configuration has.
  ModelDescription Describe() const override { return {}; }

  bool starts_at_once() const override { return true; }
  bool may_run_again() const override { return true; }

  Status Configure(const ModelIo& io, std::string_view json) override {
    for (size_t i = 0; i < io.outputs.size(); i++) {
      if (i >= io.inputs.size() || io.inputs[i].datatype != io.outputs[i].datatype ||
          io.inputs[i].dims.size() != io.outputs[i].dims.size()) {
        return Status::InvalidArg("model '" + name_ + "': output '" + io.outputs[i].name +
                                  "' of the identity backend must have an input at the same "
                                  "position with the same data_type and rank");
      }
    }
    io_ = std::make_shared<ModelIo>(io);
    auto config = Json::Parse(json);
    if (!config.ok()) return config.status();
    Status status = ReadParameter(name_, config.value(), "execute_delay_ms", &delay_ms_);
    if (!status.ok()) return status;
    return ReadParameter(name_, config.value(), "instance_wise_delay_multiplier", &multiplier_);
  }

  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec& spec) override {
    const uint64_t times = multiplier_ > 0 ? multiplier_ * std::max<uint64_t>(1, spec.index) : 1;
    const uint64_t delay_ms = std::min(delay_ms_ * times, kMostDelayMs);
    return std::unique_ptr<Instance>(new IdentityInstance(name_, io_, delay_ms));
  }

 private:
  const std::string name_;
  uint64_t delay_ms_ = 0;
  uint64_t multiplier_ = 0;
  std::shared_ptr<const ModelIo> io_;
};

}  // namespace

StatusOr<std::unique_ptr<Model>> IdentityBackend::Load(const ModelSpec& spec) {
  return std::unique_ptr<Model>(new IdentityModel(spec.name));
}

Backend* identity::MakeBackend() {
  return new IdentityBackend();
}

}  // namespace tritonts
