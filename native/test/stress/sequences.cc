#include "test/stress/sequences.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "engine/batch/collector.h"
#include "engine/request/request_builder.h"
#include "no_threads.h"
#include "sequence_fixture.h"
#include "test/stress/stress.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace tritonts::test {

namespace {

constexpr uint32_t kCallers = 24;
constexpr uint32_t kSlots = 8;  // of all instances
constexpr uint32_t kMostSteps = 20;
constexpr uint32_t kMostAtOnce = 4;
constexpr uint64_t kIdleNs = 1'000'000;
constexpr uint64_t kTimeoutNs = 300'000;
// Memory that may come and go: the last ids, pools, and lists of the library.
constexpr size_t kSlackBytes = 512 << 10;

// The bytes in use; 0: not known.
size_t BytesInUse() {
#if defined(__GLIBC__)
  if (!kWatched) return mallinfo2().uordblks;
#endif
  return 0;
}

// A request's x: the caller, and the number of the step in its sequence.
struct Input {
  float caller;
  float step;
};

class Callers;

// Sends one sequence after the other, up to kMostAtOnce requests at a time. The thread that
// delivers the last of these sends the next ones, so a sequence never idles in between.
class Caller final : public ResponseSink {
 public:
  Caller(Callers* all, uint32_t number, uint64_t seed)
      : all_(all), number_(number), random_(seed) {}

  void Begin();
  void Deliver(std::span<const Response> responses) override;

 private:
  void Send();

  Callers* const all_;
  const uint32_t number_;
  Random random_;
  uint64_t sequences_ = 0;
  uint32_t steps_ = 0;  // of the sequence
  uint32_t step_ = 0;   // the next one
  bool leaves_ = false;
  bool limited_ = false;  // it has a time-out
  bool expired_ = false;
  uint32_t open_ = 0;
  std::array<RequestHeader, kMostAtOnce> headers_;
  std::array<Request, kMostAtOnce> requests_;
  std::array<Input, kMostAtOnce> inputs_;
};

class Callers {
 public:
  Callers(SequencePolicy::Strategy strategy, uint64_t count, uint64_t seed)
      : left_(static_cast<int64_t>(count)), half_(static_cast<int64_t>(count / 2)) {
    const uint32_t instances = strategy == kDirect ? 1 : 2;
    SequencePolicy policy = PolicyOf(strategy, kSlots / instances);
    policy.max_idle_ns = kIdleNs;
    VersionConfig config = ControlledSequencesOf(std::move(policy), instances);
    config.io.inputs[0].dims = {-1, 2};
    config.io.inputs.push_back({"seen", DataType::kFp32, {-1, 1}, false});
    config.io.outputs.push_back({"next", DataType::kFp32, {-1, 1}, false});
    config.io.inputs.back().internal = config.io.outputs.back().internal = true;
    SequenceStateSpec& state = config.sequences->states.emplace_back();
    state.input = static_cast<uint32_t>(config.io.inputs.size() - 1);
    state.output = static_cast<uint32_t>(config.io.outputs.size() - 1);
    state.datatype = DataType::kFp32;
    state.first_shape = {1, 1};
    state_input_ = state.input;
    next_output_ = state.output;
    Script script;
    script.execute = [this](uint32_t, Run& run) { Execute(run); };
    bench_ = std::make_unique<VersionBench>(std::move(script), std::move(config));
    for (uint32_t i = 0; i < kCallers; i++) {
      callers_.push_back(std::make_unique<Caller>(this, i, seed + i));
    }
  }

  void Play() {
    going_ = kCallers;
    for (const auto& caller : callers_) caller->Begin();
    for (uint64_t before = begun; going_ > 0; before = begun) {
      if (!Eventually([&] { return going_ == 0 || begun > before; })) {
        return Complain("sequences do not end");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ChangeInstances();
    }
    // The timer ends the sequences that were left.
    const auto counts = [this] { return version().metrics({}).sequences; };
    if (!Eventually([&] { return counts().live == 0; })) Complain("sequences keep their slots");
    const size_t after = BytesInUse();
    const SequenceCounts seen = counts();
    if (seen.state_bytes != 0) Complain("states are left");
    if (seen.backlog != 0) Complain("sequences stay in the backlog");
    if (seen.begun != begun) Complain("another number of sequences began");
    if (seen.idled + seen.expired != left + expired) Complain("another number of sequences idled");
    if (version().metrics({}).pending != 0) Complain("requests are left");
    if (after > half_bytes_ + kSlackBytes) {
      Complain("the memory in use has grown from " + std::to_string(half_bytes_) + " to " +
               std::to_string(after) + " bytes");
    }
    version().Close();
    if (!version().drained()) Complain("a version without requests is not drained");
    bench_.reset();
  }

  ModelVersion& version() { return bench_->version(); }
  // Whether a caller may begin another sequence. Any thread.
  bool Another() {
    const int64_t number = left_--;
    if (number == half_) half_bytes_ = BytesInUse();
    if (number <= 0 || failed) return false;
    begun++;
    return true;
  }
  void Stop() { going_--; }

  std::atomic<uint64_t> begun{0}, left{0}, expired{0}, requests{0};
  uint64_t changes = 0;  // of the instances

 private:
  // Adds an instance, or removes the one that was added. Live sequences go on meanwhile.
  void ChangeInstances() {
    version().RemoveLeft();
    std::vector<uint32_t> removed;
    std::vector<InstanceSpec> more;
    if (added_.empty()) {
      more.push_back({"more", 0, MemoryKind::kHost, 0});
    } else {
      removed.swap(added_);
    }
    if (!version().ChangeInstances(removed, std::move(more), nullptr, {}, &added_).ok()) {
      Complain("instances cannot be changed");
    }
    changes++;
  }

  void Execute(Run& run) {
    Gathered start;
    if (!Gather(run, kStartInput, true, &start).ok()) return Complain("START is not gathered");
    Gathered states;
    if (!Gather(run, state_input_, true, &states).ok()) return Complain("states are not gathered");
    const auto count = static_cast<uint32_t>(run.requests().size());
    std::vector<float> next(count);
    for (uint32_t i = 0; i < count; i++) {
      const Request& request = *run.requests()[i];
      if (request.header->null_row) continue;
      Input input;
      std::memcpy(&input, request.chunk(*request.input(0)).data, sizeof(input));
      // Not atomic: requests of a sequence never run at the same time.
      float& last = last_[static_cast<size_t>(input.caller)];
      const float flag = static_cast<const float*>(start.buffer.data)[i];
      if (flag != (input.step == 0 ? 1 : 0)) Complain("START of another value");
      if (input.step != 0 && input.step != last + 1) Complain("steps in another order");
      last = input.step;
      // The state counts the requests of the sequence.
      const float before = static_cast<const float*>(states.buffer.data)[i];
      if (before != input.step) Complain("a state of another value");
      next[i] = before + 1;
    }
    requests += count;
    const int64_t tail[] = {1};
    run.SetOutput(next_output_, DataType::kFp32, tail, next.data(), count * sizeof(float), nullptr);
    run.RespondAll(Status::Ok());
  }

  std::atomic<int64_t> left_;
  const int64_t half_;
  std::atomic<size_t> half_bytes_{0};
  std::atomic<uint32_t> going_{0};
  std::array<float, kCallers> last_ = {};
  std::vector<uint32_t> added_;  // numbers of instances
  uint32_t state_input_ = 0;
  uint32_t next_output_ = 0;
  std::unique_ptr<VersionBench> bench_;
  std::vector<std::unique_ptr<Caller>> callers_;
};

void Caller::Begin() {
  if (!all_->Another()) return all_->Stop();
  sequences_++;
  steps_ = 1 + random_.Up(kMostSteps - 1);
  step_ = 0;
  leaves_ = random_.Once(4);
  limited_ = random_.Once(16);
  expired_ = false;
  Send();
}

void Caller::Send() {
  const uint32_t count = std::min(1 + random_.Up(kMostAtOnce - 1), steps_ - step_);
  std::array<Request*, kMostAtOnce> chosen;
  const uint64_t now = NowNs();
  for (uint32_t i = 0; i < count; i++, step_++) {
    inputs_[i] = {static_cast<float>(number_), static_cast<float>(step_)};
    RequestBuilder builder({&headers_[i], this, &all_->version(), now});
    InputTensor& input = builder.AddInput(0, DataType::kFp32);
    input.shape = std::vector<int64_t>{1, 2};
    builder.Lend(&input, &inputs_[i], sizeof(Input));
    const bool last = step_ + 1 == steps_ && !leaves_;
    // Half of the callers have texts as ids.
    const uint64_t id = sequences_ * kCallers + number_;
    builder.SetSequence(0, number_ % 2 == 0 ? id : 0,
                        number_ % 2 == 0 ? "" : "sequence " + std::to_string(id), step_ == 0, last);
    builder.SetAttributes(0, limited_ && step_ == 0 ? kTimeoutNs / 1000 : 0);
    builder.Finish();
    requests_[i].header = &headers_[i];
    requests_[i].Prepare();
    chosen[i] = &requests_[i];
  }
  open_ = count;
  all_->version().Submit(std::span(chosen).first(count), now);
}

void Caller::Deliver(std::span<const Response> responses) {
  for (const Response& response : responses) {
    if (response.status.code() == Code::kUnavailable && limited_) {
      expired_ = true;
    } else if (!response.status.ok()) {
      Complain("a request of a sequence failed: " + response.status.message());
    }
    response.request->set_state(Request::State::kIdle);
    open_--;
  }
  if (open_ > 0) return;
  if (!expired_ && step_ < steps_) return Send();
  if (expired_) all_->expired++;
  if (leaves_ && !expired_) all_->left++;
  Begin();
}

}  // namespace

void StressSequences(uint64_t count, uint64_t seed) {
  for (const auto strategy : {kDirect, kOldest}) {
    Callers callers(strategy, count, seed);
    callers.Play();
    if (failed) return;
    std::cout << callers.begun << " sequences with " << callers.requests
              << " requests and null rows: " << callers.left << " were left, " << callers.expired
              << " expired in the backlog, and instances changed " << callers.changes << " times"
              << std::endl;
  }
}

}  // namespace tritonts::test
