// Many environments use one server while its models come and go: each thread here plays the JS
// thread of its ports, and a controller loads, publishes and retires versions and finally closes
// the server beneath all of them. Every request must end exactly once, with its own rows or with an
// error that its situation allows.
//
//   tritonts_stress [seconds] [seed]
//
// With TRITONTS_TEST_ORT_LIBRARY, the path of a runtime library, some versions run an ONNX model.
#include <atomic>
#include <iostream>
#include <random>
#include <sstream>
#include <thread>

#include "backends/registry.h"
#include "contract_backend.h"
#include "fault_backend.h"
#include "onnxruntime_fixture.h"
#include "port_client.h"
#include "server_fixture.h"

namespace tritonts::test {

namespace {

constexpr int kEnvironments = 4;
constexpr uint64_t kMaxInFlightBytes = uint64_t{6} << 20;
constexpr uint64_t kMs = 1'000'000;

std::atomic<bool> failed{false};

void Complain(const std::string& what) {
  Fail("stress", 0, what);
  failed = true;
}

// What a version computes of inputs 0 and 1; all are of the identity backend but three.
enum class Kind : uint32_t {
  kFixed,     // 16 floats a row, and 2 more
  kVariable,  // rows of any width
  kLarge,     // one tensor of up to a MiB, no batch dimension
  kFault,     // 4 floats a row, and what is to go wrong
  kContract,  // 4 floats a row, and the way that they take
  kOnnx,      // twice its 4 floats a row, by ONNX Runtime
  kCount
};

ModelIo IoOf(Kind kind, uint32_t max_batch_size) {
  const auto both = [&](uint32_t most, const std::vector<std::vector<int64_t>>& dims) {
    ModelIo io;
    io.max_batch_size = most;
    for (size_t i = 0; i < dims.size(); i++) {
      io.inputs.push_back({"x" + std::to_string(i), DataType::kFp32, dims[i], false});
      io.outputs.push_back({"y" + std::to_string(i), DataType::kFp32, dims[i], false});
    }
    return io;
  };
  switch (kind) {
    case Kind::kFixed:
      return both(max_batch_size, {{-1, 16}, {-1, 2}});
    case Kind::kVariable:
      return both(max_batch_size, {{-1, -1}});
    case Kind::kLarge:
      return both(0, {{-1}});
    case Kind::kFault:
    case Kind::kContract: {
      ModelIo io = both(max_batch_size, {{-1, 4}});
      io.inputs.push_back({"fault", DataType::kInt32, {-1, 1}, false});
      return io;
    }
    default:
      return both(max_batch_size, {{-1, 4}});
  }
}

// Whether a request that asks for it gets its rows nevertheless. So does one that is slow, unless
// another one of its batch throws.
bool IsAnswered(Fault fault) {
  return fault == Fault::kNone || fault == Fault::kAnswersTwice || fault == Fault::kOtherThread ||
         fault == Fault::kWrongRequest;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  // 0 to most.
  uint32_t Up(uint32_t most) { return static_cast<uint32_t>(engine_() % (uint64_t{most} + 1)); }
  bool Once(uint32_t in) { return Up(in - 1) == 0; }
  uint64_t Seed() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

struct Counts {
  std::atomic<uint64_t> submitted{0}, ok{0}, cancelled{0}, gone{0}, limited{0}, dropped{0};
  std::atomic<uint64_t> faulty{0}, streamed{0};
  std::atomic<uint64_t> ports{0}, versions{0}, failed_loads{0}, batches{0}, rows{0};
};
Counts counts;

// --- An environment.

struct Target {
  uint32_t uid = 0;
  Kind kind = Kind::kFixed;
  uint32_t max_batch_size = 0;
};

class Environment {
 public:
  Environment(std::shared_ptr<Server> server, uint64_t seed)
      : server_(std::move(server)), random_(seed) {}

  // Attaches and detaches until the server is closed.
  void Run() {
    while (!closed_ && !failed) {
      PortClient client(server_, random_.Once(3));
      client_ = &client;
      if (random_.Once(2)) client.WriteGroups();
      if (random_.Once(2)) client.LookForAnswers();
      counts.ports++;
      revision_ = 0;
      targets_.clear();
      const uint32_t ticks = 20 + random_.Up(600);
      for (uint32_t tick = 0; tick < ticks && !closed_ && !failed; tick++) {
        Refresh();
        const uint32_t burst = random_.Once(20) ? 200 : random_.Up(8);
        for (uint32_t i = 0; i < burst && !targets_.empty() && !closed_; i++) Write();
        if (!client.Flush(random_.Once(2)).ok()) Complain("a submission was refused");
        if (!pending_.empty() && random_.Once(3)) CancelSome();
        client.WaitForWake(std::chrono::microseconds(random_.Up(300)));
        Take();
        // Not more than the slabs and pages of a busy environment.
        while (pending_.size() > 1000 && !failed) TakeOrFail();
      }
      // An environment that ends in order waits for its answers; a killed one does not.
      if (!closed_ && random_.Once(3)) {
        for (int i = 0; i < 50 && !targets_.empty(); i++) Write();
        if (!client.Flush().ok()) Complain("a submission was refused");
      } else {
        while (!pending_.empty() && !failed) TakeOrFail();
      }
      counts.dropped += pending_.size();
      pending_.clear();
      client.Detach();
    }
  }

 private:
  struct Pending {
    Target target;
    uint32_t generation;
    uint32_t rows;
    std::vector<PortInput> inputs;
    std::vector<uint32_t> wanted;
    Fault fault = Fault::kNone;
    Way way = Way::kPlain;
    uint32_t responses = 0;  // that were not final
    bool cancelled = false;
  };

  // Reads the table of models when it changed: "uid kind max_batch_size" of each version.
  void Refresh() {
    closed_ = client_->HeaderWord(layout::kClosed) == 1;
    const Server::Snapshot snapshot = server_->Read("m", revision_);
    if (snapshot.found && !snapshot.changed) return;
    targets_.clear();
    revision_ = snapshot.revision;
    std::istringstream text(snapshot.json);
    uint32_t kind = 0;
    for (Target target; text >> target.uid >> kind >> target.max_batch_size;) {
      target.kind = static_cast<Kind>(kind);
      targets_.push_back(target);
    }
  }

  PortInput Input(uint32_t index, std::vector<int32_t> shape) {
    size_t count = 1;
    for (const int32_t dim : shape) count *= static_cast<size_t>(dim);
    std::vector<float> values(count);
    for (size_t i = 0; i < count; i++) {
      values[i] = static_cast<float>((next_value_ * 31 + i) % 1'000'003);
    }
    next_value_++;
    return {index, std::move(shape), BytesOf(values)};
  }

  // Not those that need somebody to end their run, nor one that a sanitizer's allocator ends the
  // process for.
  Fault AnyFault() {
    while (true) {
      const auto fault = static_cast<Fault>(random_.Up(static_cast<uint32_t>(Fault::kCount) - 1));
      if (fault != Fault::kHangs && fault != Fault::kHangsUntilTerminated &&
          fault != Fault::kAllocatesTooMuch) {
        return fault;
      }
    }
  }

  void Write() {
    // Mostly one like the one before, which may become a part of that.
    if (next_target_ >= targets_.size() || random_.Once(4)) {
      next_target_ = random_.Up(static_cast<uint32_t>(targets_.size() - 1));
      next_rows_ = random_.Up(1000);
    }
    const Target& target = targets_[next_target_];
    Pending pending;
    pending.target = target;
    const auto rows = static_cast<int32_t>(1 + next_rows_ % std::max(1u, target.max_batch_size));
    pending.rows = static_cast<uint32_t>(rows);
    switch (target.kind) {
      case Kind::kFixed:
        pending.inputs = {Input(0, {rows, 16}), Input(1, {rows, 2})};
        if (random_.Once(4)) pending.wanted = {random_.Up(1)};
        break;
      case Kind::kVariable:
        pending.inputs = {Input(0, {rows, static_cast<int32_t>(random_.Up(3)) * 50})};
        break;
      case Kind::kLarge:
        pending.rows = 0;
        pending.inputs = {Input(
            0, {static_cast<int32_t>(random_.Once(8) ? random_.Up(1 << 18) : random_.Up(30'000))})};
        break;
      case Kind::kFault: {
        if (random_.Once(3)) pending.fault = AnyFault();
        const std::vector<int32_t> number(static_cast<size_t>(rows),
                                          static_cast<int32_t>(pending.fault));
        pending.inputs = {Input(0, {rows, 4}), {1, {rows, 1}, BytesOf(number)}};
        break;
      }
      case Kind::kContract: {
        pending.way = static_cast<Way>(random_.Up(static_cast<uint32_t>(Way::kCount) - 1));
        const uint32_t times = pending.way == Way::kGoesRound ? random_.Up(3) : 0;
        const std::vector<int32_t> number(
            static_cast<size_t>(rows),
            static_cast<int32_t>(pending.way) + static_cast<int32_t>(times) * 16);
        pending.inputs = {Input(0, {rows, 4}), {1, {rows, 1}, BytesOf(number)}};
        break;
      }
      default:
        pending.inputs = {Input(0, {rows, 4})};
    }
    const uint32_t slot = client_->Write(target.uid, pending.rows, pending.inputs, pending.wanted);
    pending.generation = client_->generation(slot);
    if (!pending_.emplace(slot, std::move(pending)).second) Complain("a slot was free and pending");
    counts.submitted++;
  }

  void CancelSome() {
    auto request = pending_.lower_bound(random_.Up(50));
    for (uint32_t i = 0; i < 3 && request != pending_.end(); i++, ++request) {
      request->second.cancelled = true;
      client_->Cancel(request->first);
    }
  }

  void TakeOrFail() {
    if (client_->WaitForWake(kPatience)) {
      Take();
    } else {
      Complain(std::to_string(pending_.size()) + " requests did not end");
    }
  }

  void Take() {
    for (const PortAnswer& answer : client_->Take()) Check(answer);
    closed_ = client_->HeaderWord(layout::kClosed) == 1;
  }

  void Check(const PortAnswer& answer) {
    const auto known = pending_.find(answer.slot);
    if (known == pending_.end() || known->second.generation != answer.generation) {
      return Complain(answer.final ? "an answer to a request that is not pending"
                                   : "a response behind the final one");
    }
    if (!answer.final) {
      known->second.responses++;
      counts.streamed++;
      if (answer.code != Code::kOk) return Complain("an error that is not final");
      return CheckOutputs(known->second, answer);
    }
    const Pending pending = std::move(known->second);
    pending_.erase(known);
    const uint32_t before = ResponsesBefore(pending.way);
    if (pending.responses > before) Complain("too many responses");
    switch (answer.code) {
      case Code::kOk:
        counts.ok++;
        if (!IsAnswered(pending.fault) && pending.fault != Fault::kSlow) {
          Complain("a fault went well");
        }
        if (pending.way == Way::kStreamsAndFails) Complain("a failure went well");
        return CheckOutputs(pending, answer);
      case Code::kCancelled:
        counts.cancelled++;
        if (!pending.cancelled && !closed_ && client_->HeaderWord(layout::kClosed) == 0) {
          Complain("cancelled by nobody: " + answer.message);
        }
        return;
      case Code::kInternal:
        counts.faulty++;
        if (pending.way == Way::kStreamsAndFails) return;
        if (IsAnswered(pending.fault)) Complain("an error for no fault: " + answer.message);
        return;
      case Code::kUnavailable:
        (answer.limited ? counts.limited : counts.gone)++;
        return;
      default:
        return Complain("an error: " + answer.message);
    }
  }

  void CheckOutputs(const Pending& pending, const PortAnswer& answer) {
    const bool one = !pending.wanted.empty() || pending.target.kind == Kind::kFault ||
                     pending.target.kind == Kind::kContract;
    const size_t expected = one ? 1 : pending.inputs.size();
    if (answer.outputs.size() != expected) Complain("outputs are missing or too many");
    for (const PortAnswer::Output& output : answer.outputs) {
      if (!pending.wanted.empty() && output.index != pending.wanted[0]) {
        Complain("an output that nobody wants");
      }
      const PortInput& input = pending.inputs[output.index];
      std::string bytes = input.bytes;
      if (pending.target.kind == Kind::kOnnx) {
        std::vector<float> values = Values<float>(bytes);
        for (float& value : values) value += value;
        bytes = BytesOf(values);
      }
      if (output.bytes != bytes) Complain("an output that is not the request's");
      if (!std::equal(output.shape.begin(), output.shape.end(), input.shape.begin(),
                      input.shape.end())) {
        std::string text = "an output of another shape: [";
        for (const int64_t dim : output.shape) text += std::to_string(dim) + ",";
        text += "] for [";
        for (const int32_t dim : input.shape) text += std::to_string(dim) + ",";
        Complain(text + "]");
      }
    }
    if (answer.timings[0] < pending.rows) Complain("a batch smaller than its request");
    for (const double duration : answer.timings) {
      if (!(duration >= 0 && duration < 1e12)) Complain("a duration out of its mind");
    }
  }

  const std::shared_ptr<Server> server_;
  Random random_;
  PortClient* client_ = nullptr;
  std::map<uint32_t, Pending> pending_;  // by slot
  std::vector<Target> targets_;
  uint64_t revision_ = 0;
  uint64_t next_value_ = 0;
  size_t next_target_ = 0;
  uint32_t next_rows_ = 0;
  bool closed_ = false;
};

// --- The controller.

class Controller {
 public:
  Controller(ServerBench* bench, uint64_t seed) : bench_(bench), random_(seed) {
    if (LibraryPath().empty()) return;
    onnx_path_ = folder_.File("model.onnx", OnnxModelWriter()
                                                .Input("x0", Tensor(kOnnxFloat, {-1, 4}))
                                                .Node("Add", {"x0", "x0"}, {"y0"})
                                                .Output("y0", Tensor(kOnnxFloat, {-1, 4}))
                                                .Model());
  }

  void Run(uint64_t until_ns) {
    while (NowNs() < until_ns && !failed) {
      if (served_.size() < 4) Serve();
      std::this_thread::sleep_for(std::chrono::milliseconds(5 + random_.Up(40)));
      if (random_.Once(10)) bench_->server().CancelLoads();
      if (served_.size() > 2 || random_.Once(3)) RetireOne();
      if (random_.Once(20)) bench_->server().Withdraw("m");
    }
  }

  // Every retirement must have come to its end, well.
  void Finish() {
    if (retired_ != retiring_) Complain("a retirement did not come back");
  }

 private:
  void Serve() {
    const auto kind = static_cast<Kind>(
        random_.Up(static_cast<uint32_t>(onnx_path_.empty() ? Kind::kOnnx : Kind::kCount) - 1));
    ModelSpec spec{"m", 1, "", {}};
    if (kind == Kind::kOnnx) {
      spec.path = onnx_path_;
      spec.settings = {{"library", LibraryPath()}, {"intra_op_threads", "1"}};
    } else if (kind == Kind::kFault) {
      spec.settings["delay_ms"] = "2";
      if (random_.Once(10)) spec.settings["load_fault"] = random_.Once(2) ? "throws" : "fails";
    } else if (kind == Kind::kContract) {
      spec.settings["asynchronous"] = std::to_string(random_.Up(1));
    } else if (random_.Once(10)) {
      spec.settings["execute_delay_ms"] = "no number";
    } else if (random_.Once(3)) {
      spec.settings["execute_delay_ms"] = std::to_string(random_.Up(3));
    }
    const auto delay = spec.settings.find("execute_delay_ms");
    const bool fails = spec.settings.contains("load_fault") ||
                       (delay != spec.settings.end() && delay->second == "no number");
    const char* backend = kind == Kind::kOnnx    ? "onnxruntime"
                          : kind == Kind::kFault ? "fault"
                                                 : "identity";
    auto opened = bench_->Open(kind == Kind::kContract ? &contract_ : FindBackend(backend), spec);
    if (opened.ok() == fails) Complain("a load went otherwise: " + opened.status().message());
    if (!opened.ok()) {
      counts.failed_loads++;
      return;
    }
    const uint32_t most = kind == Kind::kLarge ? 0 : 1 + random_.Up(15);
    DynamicPolicy policy;
    if (most > 0 && !random_.Once(4)) {
      policy.max_batch_size = most;
      for (uint32_t size = 1; size <= most; size++) {
        if (random_.Once(4)) policy.preferred_batch_sizes.push_back(size);
      }
      if (random_.Once(2)) policy.max_queue_delay_ns = random_.Up(500'000);
    }
    VersionConfig config = ConfigOf(IoOf(kind, most), 1 + random_.Up(2), std::move(policy));
    if (!random_.Once(3)) config.inline_budget_ns = random_.Up(200'000);
    const Status status = bench_->Start(opened.value(), std::move(config));
    if (!status.ok()) Complain("a start failed: " + status.message());
    served_.push_back({opened.value(), kind, most});
    counts.versions++;
    Publish();
  }

  void Publish() {
    std::string text;
    for (const Target& target : served_) {
      text += std::to_string(target.uid) + " " +
              std::to_string(static_cast<uint32_t>(target.kind)) + " " +
              std::to_string(target.max_batch_size) + " ";
    }
    bench_->server().Publish("m", text);
  }

  void RetireOne() {
    if (served_.empty()) return;
    const auto which = served_.begin() + static_cast<ptrdiff_t>(
                                             random_.Up(static_cast<uint32_t>(served_.size() - 1)));
    const uint32_t uid = which->uid;
    const std::shared_ptr<ModelVersion> version = bench_->server().FindVersion(uid);
    served_.erase(which);
    // Mostly as one should, seldom before the environments know of it.
    if (!random_.Once(5)) Publish();
    retiring_++;
    bench_->server().Retire(uid, [this, version](bool abandoned) {
      if (abandoned) Complain("a version was abandoned");
      const Statistics statistics = version->statistics();
      counts.batches += statistics.execution_count;
      counts.rows += statistics.inference_count;
      retired_++;
    });
  }

  ServerBench* const bench_;
  Random random_;
  ContractBackend contract_;
  const TemporaryFolder folder_;
  std::string onnx_path_;
  std::vector<Target> served_;
  int retiring_ = 0;
  std::atomic<int> retired_{0};
};

int Play(double seconds, uint64_t seed) {
  std::cout << "seed " << seed << std::endl;
  Random random(seed);
  const uint64_t end = NowNs() + static_cast<uint64_t>(seconds * 1e9);
  std::weak_ptr<Server> left;
  // The server is closed beneath its environments several times.
  while (NowNs() < end && !failed) {
    // More cores than a machine may have: threads shall spin here.
    ServerBench bench(kMaxInFlightBytes, random.Once(3) ? 0 : 1 + random.Up(9));
    Controller controller(&bench, random.Seed());
    std::vector<std::thread> threads;
    for (int i = 0; i < kEnvironments; i++) {
      threads.emplace_back(
          [server = bench.shared(), seed = random.Seed()] { Environment(server, seed).Run(); });
    }
    controller.Run(std::min(end, NowNs() + (100 + random.Up(900)) * kMs));
    const auto abandoned = bench.Close(random.Up(2) * 20);
    if (!abandoned.empty()) Complain("versions were abandoned at the end");
    for (std::thread& thread : threads) thread.join();
    controller.Finish();
    // The last batches' ports may be on their way still.
    if (!Eventually([&] { return bench.server().in_flight_bytes() == 0; })) {
      Complain("bytes stay in flight");
    }
    left = bench.Release();
  }
  if (!left.expired()) Complain("somebody keeps the closed server");
  const uint64_t ended =
      counts.ok + counts.cancelled + counts.gone + counts.limited + counts.faulty;
  std::cout << counts.submitted << " requests in " << counts.ports << " ports: " << counts.ok
            << " ok, " << counts.cancelled << " cancelled, " << counts.limited << " limited, "
            << counts.gone << " too late, " << counts.faulty << " faulty, " << counts.streamed
            << " responses before a final one, " << counts.dropped << " dropped with their port; "
            << counts.versions << " versions, " << counts.failed_loads << " failed loads; "
            << "retired versions ran " << counts.rows << " rows in " << counts.batches << " batches"
            << std::endl;
  if (ended + counts.dropped != counts.submitted) Complain("requests are lost");
  return failed ? 1 : 0;
}

}  // namespace

// The checks of shared fixtures report here.
void Fail(const char* file, int line, const std::string& text) {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  std::cout << file << ":" << line << ": " << text << std::endl;
  failed = true;
}

}  // namespace tritonts::test

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 3;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  return tritonts::test::Play(seconds, seed);
}
