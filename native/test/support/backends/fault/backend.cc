#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "engine/base/exit.h"
#include "fault.h"

namespace tritonts {

namespace {

constexpr const char* kNames[] = {
    "none",
    "fails",
    "unavailable",
    "throws",
    "throws_other",
    "lacks_memory",
    "hangs",
    "hangs_until_terminated",
    "answers_twice",
    "answers_late",
    "never_answers",
    "wrong_rows",
    "negative_dim",
    "huge_shape",
    "unknown_output",
    "wrong_datatype",
    "too_few_bytes",
    "too_many_bytes",
    "other_thread",
    "allocates_too_much",
    "slow",
    "wrong_request",
    "held",
    "tells",
    "keeps_nothing",
    "kept_too_few_bytes",
    "kept_wrong_datatype",
    "answers_null_rows",
    "throws_at_null_row",
    "wrong_ragged_rows",
};
static_assert(std::size(kNames) == static_cast<size_t>(Fault::kCount));

constexpr size_t kTooMuch = size_t{1} << 45;

std::string SettingOf(const ModelSpec& spec, const std::string& key, const char* absent) {
  const auto known = spec.settings.find(key);
  return known == spec.settings.end() ? absent : known->second;
}

std::chrono::milliseconds MillisecondsOf(const ModelSpec& spec, const std::string& key,
                                         const char* absent) {
  const std::string text = SettingOf(spec, key, absent);
  int64_t milliseconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  return std::chrono::milliseconds(milliseconds);
}

[[noreturn]] void Hang(const std::string& file) {
  if (!file.empty()) std::ofstream(file).put('\n');
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

// The faults that a model's settings request.
struct FaultOrders {
  Fault fault = Fault::kNone;
  std::string load_fault;
  std::string at;
  std::chrono::milliseconds delay{100};
  std::chrono::milliseconds destroy{0};
  std::string hang_file;
  std::string release_file;
  int fault_input = -1;               // position of the input that selects a fault
  int ran_output = -1;                // position of the output that describes the run
  std::map<uint32_t, DataType> kept;  // outputs that the engine keeps
};

// The fault of a load at one of its steps.
Status LoadFault(const FaultOrders& orders, const char* step) {
  if (orders.at != step) return Status::Ok();
  const std::string& fault = orders.load_fault;
  if (fault == "fails") return Status::Unavailable(Reason::kNotReady, "an injected failure");
  if (fault == "throws") throw std::runtime_error("an injected exception");
  if (fault == "lacks_memory") throw std::bad_alloc();
  if (fault == "hangs") Hang(orders.hang_file);
  return Status::Ok();
}

class FaultInstance final : public Instance {
 public:
  // `runs` counts the runs of the whole model.
  FaultInstance(const FaultOrders& orders, std::atomic<int32_t>* runs)
      : orders_(orders), runs_(runs) {}
  ~FaultInstance() override { JoinLate(); }

  void Execute(Run& run) override {
    // Late responses of the previous run come now, while this run is under way.
    JoinLate();
    run_ = ++*runs_;
    first_rows_.clear();
    int32_t rows = 0;
    for (const Request* request : run.requests()) {
      first_rows_.push_back(rows);
      rows += static_cast<int32_t>(request->header->batch_size);
    }
    ran_shapes_.assign(run.requests().size(), {});
    run.MarkInputsReady();
    run.MarkComputed();
    bool null_rows_answer = false;
    bool null_rows_throw = false;
    bool ragged = false;
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      const Fault fault = FaultOf(run, i);
      null_rows_answer = null_rows_answer || fault == Fault::kAnswersNullRows;
      null_rows_throw = null_rows_throw || fault == Fault::kThrowsAtNullRow;
      ragged = ragged || fault == Fault::kWrongRaggedRows;
    }
    if (ragged) return RespondRagged(run);
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      const bool null_row = run.requests()[i]->header->null_row;
      if (null_row && null_rows_throw) throw std::runtime_error("an injected exception");
      if (null_row && null_rows_answer) {
        Respond(run, i, Fault::kAnswersTwice);
      } else if (!OfTheRun(faults_[i])) {
        Respond(run, i, faults_[i]);
      }
    }
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      const Fault fault = faults_[i];
      if (OfTheRun(fault)) Misbehave(run, i, fault);
    }
  }

  void Terminate() override {
    {
      std::lock_guard lock(mutex_);
      terminated_ = true;
    }
    changed_.notify_all();
  }

 private:
  static bool OfTheRun(Fault fault) {
    return fault == Fault::kThrows || fault == Fault::kThrowsOther ||
           fault == Fault::kLacksMemory || fault == Fault::kHangs ||
           fault == Fault::kHangsUntilTerminated || fault == Fault::kSlow || fault == Fault::kHeld;
  }

  // Read early, because a request that is done must not be read.
  Fault FaultOf(const Run& run, uint32_t position) {
    faults_.resize(run.requests().size());
    Fault& fault = faults_[position];
    fault = orders_.fault;
    const Request& request = *run.requests()[position];
    const InputTensor* input =
        orders_.fault_input < 0 ? nullptr
                                : run.input(position, static_cast<uint32_t>(orders_.fault_input));
    if (!input || input->byte_size() < sizeof(int32_t)) return fault;
    int32_t number = 0;
    std::memcpy(&number, request.chunk(*input).data, sizeof(number));
    if (number > 0 && number < static_cast<int32_t>(Fault::kCount)) {
      fault = static_cast<Fault>(number);
    }
    return fault;
  }

  static std::string Attributes(const Request& request) {
    std::string text = "priority " + std::to_string(request.priority()) + ", timeout " +
                       std::to_string(request.timeout_ns()) + " ns";
    for (const RequestParameter& parameter : request.parameters()) {
      text += ", " + parameter.name + " = ";
      if (const auto* string = std::get_if<std::string>(&parameter.value)) {
        text += "'" + *string + "'";
      } else if (const auto* integer = std::get_if<int64_t>(&parameter.value)) {
        text += "integer " + std::to_string(*integer);
      } else if (const auto* number = std::get_if<double>(&parameter.value)) {
        text += "double " + std::to_string(*number);
      } else {
        text += std::get<bool>(parameter.value) ? "true" : "false";
      }
    }
    return text;
  }

  void Echo(Run& run, uint32_t position) {
    const InputTensor* input = run.input(position, 0);
    if (!input) return;
    Declare(run, position, 0, input->datatype, input->shape, input->byte_size());
    if (orders_.ran_output >= 0) TellRun(run, position);
  }

  void TellRun(Run& run, uint32_t position) {
    const uint32_t rows = run.requests()[position]->header->batch_size;
    const size_t size = rows * 3 * sizeof(int32_t);
    BlockRef block = run.pool().Acquire(size);
    if (!block) return run.Respond(position, Status::Unavailable(Reason::kNoMemory, "no memory"));
    auto* told = reinterpret_cast<int32_t*>(block->data());
    for (uint32_t row = 0; row < rows; row++) {
      *told++ = run_;
      *told++ = static_cast<int32_t>(position);
      *told++ = first_rows_[position] + static_cast<int32_t>(row);
    }
    std::array<int64_t, 2>& shape = ran_shapes_[position];
    shape = {rows, 3};
    run.SetRequestOutput(position, static_cast<uint32_t>(orders_.ran_output), DataType::kInt32,
                         shape, block->data(), size, block.get());
  }

  // Declares the outputs that the engine keeps.
  void DeclareKept(Run& run, uint32_t position, Fault fault) {
    if (fault == Fault::kKeepsNothing) return;
    const InputTensor* input = run.input(position, 0);
    const size_t lacks = fault == Fault::kKeptTooFewBytes ? sizeof(float) : 0;
    for (const auto& [index, datatype] : orders_.kept) {
      Declare(run, position, index, fault == Fault::kKeptWrongDatatype ? DataType::kInt8 : datatype,
              input->shape, input->byte_size() - lacks);
    }
  }

  // Responds to all requests with output 0, of which the first row lacks a byte.
  static void RespondRagged(Run& run) {
    const size_t rows = run.total_batch_size();
    const InputTensor& input = *run.input(0, 0);
    const std::vector<int64_t> tail(input.shape.begin() + 1, input.shape.end());
    const size_t size = input.byte_size() / run.requests()[0]->header->batch_size;
    const BlockRef block = run.pool().Acquire(rows * size);
    if (!block) return run.RespondAll(Status::Unavailable(Reason::kNoMemory, "no memory"));
    std::memset(block->data(), 0, rows * size);
    std::vector<size_t> offsets;
    for (size_t row = 0; row <= rows; row++) {
      offsets.push_back(row == 1 && rows > 1 ? size - 1 : row * size);
    }
    run.SetRaggedOutput(0, input.datatype, tail, block->data(), offsets, block.get());
    run.RespondAll(Status::Ok());
  }

  // Declares output `index` with the first `size` bytes of input 0.
  static void Declare(Run& run, uint32_t position, uint32_t index, DataType datatype,
                      std::span<const int64_t> shape, size_t size) {
    const InputTensor* input = run.input(position, 0);
    BlockRef block = run.pool().Acquire(input->byte_size() + sizeof(float));
    if (!block) return run.Respond(position, Status::Unavailable(Reason::kNoMemory, "no memory"));
    if (input->byte_size() > 0) {
      std::memcpy(block->data(), run.requests()[position]->chunk(*input).data, input->byte_size());
    }
    run.SetRequestOutput(position, index, datatype, shape, block->data(), size, block.get());
  }

  void Respond(Run& run, uint32_t position, Fault fault) {
    const InputTensor* input = run.input(position, 0);
    const size_t size = input->byte_size();
    const DataType datatype = input->datatype;
    std::vector<int64_t> shape(input->shape.begin(), input->shape.end());
    Status status = Status::Ok();
    DeclareKept(run, position, fault);
    switch (fault) {
      case Fault::kTells:
        status = Status::Internal(Attributes(*run.requests()[position]));
        break;
      case Fault::kFails:
        status = Status::Internal("an injected failure");
        break;
      case Fault::kUnavailable:
        status = Status::Unavailable(Reason::kNotReady, "an injected failure");
        break;
      case Fault::kAnswersLate: {
        std::lock_guard lock(mutex_);
        late_.emplace_back([this, position, run = RunRef(run)] {
          {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return late_wanted_; });
          }
          run->Respond(position, Status::Internal("an answer that came late"));
          run->RespondAll(Status::Internal("an answer that came late"));
        });
        return;
      }
      case Fault::kNeverAnswers:
        return;
      case Fault::kWrongRows:
        shape.front()++;
        Declare(run, position, 0, datatype, shape, size);
        break;
      case Fault::kNegativeDim:
        shape.back() = -1;
        Declare(run, position, 0, datatype, shape, size);
        break;
      case Fault::kHugeShape:
        shape.insert(shape.end(), 4, int64_t{1} << 30);
        Declare(run, position, 0, datatype, shape, size);
        break;
      case Fault::kUnknownOutput:
        Declare(run, position, 7, datatype, shape, size);
        break;
      case Fault::kWrongDatatype:
        Declare(run, position, 0, DataType::kInt8, shape, size);
        break;
      case Fault::kTooFewBytes:
        Declare(run, position, 0, datatype, shape, size - sizeof(float));
        break;
      case Fault::kTooManyBytes:
        Declare(run, position, 0, datatype, shape, size + sizeof(float));
        break;
      case Fault::kOtherThread: {
        Echo(run, position);
        std::thread([&run, position] { run.Respond(position, Status::Ok()); }).join();
        return;
      }
      case Fault::kAllocatesTooMuch:
        if (!run.pool().Acquire(kTooMuch)) {
          status = Status::Unavailable(Reason::kNoMemory,
                                       "no memory for " + std::to_string(kTooMuch) + " bytes");
        }
        break;
      case Fault::kWrongRequest:
        run.Respond(static_cast<uint32_t>(run.requests().size()), Status::Ok());
        run.Respond(1u << 30, Status::Internal("nobody's"));
        Echo(run, position);
        break;
      default:
        Echo(run, position);
    }
    run.Respond(position, status);
    if (fault == Fault::kAnswersTwice) {
      run.Respond(position, Status::Ok());
      run.Respond(position, Status::Internal("a second answer"));
    }
  }

  void Misbehave(Run& run, uint32_t position, Fault fault) {
    if (fault == Fault::kThrows) throw std::runtime_error("an injected exception");
    if (fault == Fault::kThrowsOther) throw 42;
    if (fault == Fault::kLacksMemory) throw std::bad_alloc();
    if (fault == Fault::kHangs) Hang(orders_.hang_file);
    std::unique_lock lock(mutex_);
    bool terminated = true;
    if (fault == Fault::kSlow) {
      terminated = changed_.wait_for(lock, orders_.delay, [this] { return terminated_; });
    } else if (fault == Fault::kHeld) {
      while (!terminated_ && !std::filesystem::exists(orders_.release_file)) {
        changed_.wait_for(lock, std::chrono::microseconds(200));
      }
      terminated = terminated_;
    } else {
      changed_.wait(lock, [this] { return terminated_; });
    }
    lock.unlock();
    if (terminated) {
      return run.Respond(position, Status::Cancelled("the run was asked to end"));
    }
    Respond(run, position, Fault::kNone);
  }

  void JoinLate() {
    {
      std::lock_guard lock(mutex_);
      late_wanted_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : late_) thread.join();
    late_.clear();
    late_wanted_ = false;
  }

  const FaultOrders orders_;
  std::atomic<int32_t>* const runs_;
  int32_t run_ = 0;                  // number of the current run
  std::vector<int32_t> first_rows_;  // of its requests: their first rows
  // Declared shapes. They must stay valid until the responses.
  std::vector<std::array<int64_t, 2>> ran_shapes_;
  std::vector<Fault> faults_;
  std::vector<std::thread> late_;  // used only by the running thread
  std::mutex mutex_;               // guards terminated_ and late_wanted_
  std::condition_variable changed_;
  bool terminated_ = false;
  bool late_wanted_ = false;
};

class FaultModel final : public Model {
 public:
  explicit FaultModel(FaultOrders orders) : orders_(std::move(orders)) {}
  ~FaultModel() override { std::this_thread::sleep_for(orders_.destroy); }

  // Empty: it accepts any inputs that the configuration has.
  ModelDescription Describe() const override { return {}; }

  Status Configure(const ModelIo& io, std::string_view) override {
    for (size_t i = 0; i < io.inputs.size(); i++) {
      if (io.inputs[i].name == "fault") orders_.fault_input = static_cast<int>(i);
    }
    for (size_t i = 0; i < io.outputs.size(); i++) {
      if (io.outputs[i].name == "ran") orders_.ran_output = static_cast<int>(i);
      if (io.outputs[i].internal) {
        orders_.kept[static_cast<uint32_t>(i)] = io.outputs[i].datatype;
      }
    }
    return LoadFault(orders_, "configure");
  }

  StatusOr<std::unique_ptr<Instance>> CreateInstance(const InstanceSpec&) override {
    if (Status status = LoadFault(orders_, "instance"); !status.ok()) return status;
    return std::unique_ptr<Instance>(new FaultInstance(orders_, &runs_));
  }

 private:
  FaultOrders orders_;
  std::atomic<int32_t> runs_{0};
};

}  // namespace

StatusOr<std::unique_ptr<Model>> FaultBackend::Load(const ModelSpec& spec) {
  // Real backends call this when they open their library.
  static const bool once = (OnRuntimeLibraryOpened(), true);
  (void)once;
  FaultOrders orders;
  const std::string name = SettingOf(spec, "fault", "none");
  const auto known = std::find(std::begin(kNames), std::end(kNames), name);
  if (known == std::end(kNames)) return Status::InvalidArg("there is no fault '" + name + "'");
  orders.fault = static_cast<Fault>(known - std::begin(kNames));
  orders.load_fault = SettingOf(spec, "load_fault", "");
  orders.hang_file = SettingOf(spec, "hang_file", "");
  orders.release_file = SettingOf(spec, "release_file", "");
  orders.at = SettingOf(spec, "at", "load");
  orders.delay = MillisecondsOf(spec, "delay_ms", "100");
  orders.destroy = MillisecondsOf(spec, "destroy_ms", "0");
  if (Status status = LoadFault(orders, "load"); !status.ok()) return status;
  return std::unique_ptr<Model>(new FaultModel(std::move(orders)));
}

Backend* fault::MakeBackend() {
  return new FaultBackend();
}

}  // namespace tritonts
