// Random graphs under random schedules, compared with a direct evaluation. Steps answer together,
// apart or late, from other threads, with errors; meanwhile requests are cancelled, and the
// ensemble is rebound or closed. Each request must end once, with the evaluated result.
#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include "ensemble_fixture.h"

namespace tritonts::test {

namespace {

// Expects one response per request.
class CountingSink final : public ResponseSink {
 public:
  struct Seen {
    int answers = 0;
    Status status;
    float value = 0;
  };
  void Deliver(std::span<const Response> responses) override {
    std::lock_guard lock(mutex_);
    for (const Response& response : responses) {
      Seen& seen = seen_[response.request];
      seen.answers++;
      seen.status = response.status;
      for (const OutputTensor& output : response.outputs) {
        if (output.size >= sizeof(float)) std::memcpy(&seen.value, output.data, sizeof(float));
      }
      ended_++;
      response.request->set_state(Request::State::kIdle);
    }
    changed_.notify_all();
  }
  bool Wait(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return ended_ >= count; });
  }
  Seen Of(const Request* request) {
    std::lock_guard lock(mutex_);
    return seen_[request];
  }

 private:
  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::map<const Request*, Seen> seen_;
  size_t ended_ = 0;
};

// Answers runs of asynchronous instances on a separate thread.
class Late {
 public:
  Late() : thread_([this] { Run(); }) {}
  ~Late() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  void Add(std::function<void()> answer) {
    std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    changed_.notify_all();
  }

 private:
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stop_ || !answers_.empty(); });
      if (answers_.empty()) return;
      const auto answer = std::move(answers_.front());
      answers_.pop_front();
      lock.unlock();
      answer();
      lock.lock();
    }
  }
  std::mutex mutex_;  // guards the next three
  std::condition_variable changed_;
  std::deque<std::function<void()>> answers_;
  bool stop_ = false;
  std::thread thread_;
};

enum class GraphWay { kTogether, kApart, kLate, kLateApart };

struct GraphNode {
  std::vector<uint32_t> inputs;
  GraphWay way = GraphWay::kTogether;
  uint32_t max_batch_size = 8;
  int salt = 0;
};

// The result of a step for the sum of its inputs; NaN: it fails.
float Made(const GraphNode& node, float sum) {
  const int value = static_cast<int>(sum);
  if ((value + node.salt) % 23 == 5) return NAN;
  return static_cast<float>((value * 3 + node.salt) % 997);
}

float SumOf(const GraphNode& node, const Request& request) {
  float sum = 0;
  for (uint32_t i = 0; i < node.inputs.size(); i++) {
    const Buffer chunk = request.chunk(*request.input(i));
    sum += *static_cast<const float*>(chunk.data);
  }
  return sum;
}

void AnswerRun(const GraphNode& node, Run& run, bool apart) {
  const auto requests = run.requests();
  std::vector<float> values;
  for (const Request* request : requests) values.push_back(Made(node, SumOf(node, *request)));
  const bool fails =
      std::any_of(values.begin(), values.end(), [](float value) { return std::isnan(value); });
  const auto count = static_cast<uint32_t>(values.size());
  if (!apart && !fails) {
    const int64_t tail[] = {1};
    BlockRef block = run.pool().Acquire(count * sizeof(float));
    std::memcpy(block->data(), values.data(), count * sizeof(float));
    run.SetOutput(0, DataType::kFp32, tail, block->data(), count * sizeof(float), block.get());
    run.RespondAll(Status::Ok());
    return;
  }
  const int64_t shape[] = {1, 1};
  for (uint32_t i = count; i-- > 0;) {
    if (std::isnan(values[i])) {
      run.Respond(i, Status::Internal("model 'm': fails"));
      continue;
    }
    run.SetRequestOutput(i, 0, DataType::kFp32, shape, &values[i], sizeof(float), nullptr);
    run.Respond(i, Status::Ok());
  }
}

Script ScriptOf(const GraphNode& node, Late* late) {
  Script script;
  if (node.way == GraphWay::kTogether || node.way == GraphWay::kApart) {
    script.execute = [node](uint32_t, Run& run) {
      AnswerRun(node, run, node.way == GraphWay::kApart);
    };
    return script;
  }
  script.asynchronous = true;
  script.execute = [node, late](uint32_t, Run& run) {
    late->Add([node, hold = RunRef(run)] {
      // The instance becomes free before the responses, or afterwards.
      if (node.salt % 2 == 0) hold->InstanceFree();
      AnswerRun(node, *hold, node.way == GraphWay::kLateApart);
      if (node.salt % 2 == 1) hold->InstanceFree();
    });
  };
  return script;
}

class RandomGraph {
 public:
  explicit RandomGraph(std::mt19937* random) : random_(*random) {
    const uint32_t steps = 1 + Any(6);
    plan_.io = FloatIo(8);
    plan_.tensors = steps + 1;
    plan_.outputs = {steps};
    if (Any(4) == 0) plan_.max_inflight = 1 + Any(10);
    for (uint32_t i = 0; i < steps; i++) {
      GraphNode node;
      // The previous tensor is read, so that every step is needed.
      node.inputs.push_back(i);
      if (i > 0 && Any(2) == 0) node.inputs.push_back(Any(i));
      node.way = static_cast<GraphWay>(Any(4));
      node.max_batch_size = 8 << Any(2);
      node.salt = static_cast<int>(Any(900));
      EnsembleStep step{"m", {}, {{"y", i + 1}}};
      for (uint32_t k = 0; k < node.inputs.size(); k++) {
        step.inputs.push_back({"x" + std::to_string(k), node.inputs[k]});
      }
      plan_.steps.push_back(step);
      nodes_.push_back(node);
    }
  }
  uint32_t Any(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  std::vector<std::pair<Script, VersionConfig>> Versions(Late* late) {
    std::vector<std::pair<Script, VersionConfig>> versions;
    for (const GraphNode& node : nodes_) {
      ModelIo io{node.max_batch_size, {}, {{"y", DataType::kFp32, {-1, 1}, false}}};
      for (uint32_t k = 0; k < node.inputs.size(); k++) {
        io.inputs.push_back({"x" + std::to_string(k), DataType::kFp32, {-1, 1}, false});
      }
      VersionConfig config = ConfigOf(io, 1 + Any(2), Dynamic(node.max_batch_size));
      if (Any(2) == 0) config.inline_budget_ns = 1'000'000;
      config.guest_budget_ns = Any(2) == 0 ? 0 : 1'000'000'000;
      versions.emplace_back(ScriptOf(node, late), std::move(config));
    }
    return versions;
  }
  // NaN: a step fails.
  float Evaluate(float input) const {
    std::vector<float> tensors = {input};
    for (const GraphNode& node : nodes_) {
      float sum = 0;
      for (const uint32_t tensor : node.inputs) sum += tensors[tensor];
      if (std::isnan(sum)) return NAN;
      tensors.push_back(Made(node, sum));
    }
    return tensors.back();
  }
  const EnsemblePlan& plan() const { return plan_; }

 private:
  std::mt19937& random_;
  EnsemblePlan plan_;
  std::vector<GraphNode> nodes_;
};

void Play(uint32_t seed) {
  std::mt19937 random(seed);
  RandomGraph graph(&random);
  Late late;
  CountingSink sink;
  std::deque<Group> groups;
  std::map<const Request*, float> inputs;
  std::vector<Request*> sent;
  bool closed = false;
  std::map<const Request*, bool> cancelled;
  EnsembleBench bench(graph.plan(), graph.Versions(&late));
  const uint32_t turns = 4 + graph.Any(12);
  for (uint32_t turn = 0; turn < turns; turn++) {
    std::vector<Request*> tick;
    for (uint32_t k = 1 + graph.Any(4); k > 0; k--) {
      std::vector<float> values;
      for (uint32_t i = 1 + graph.Any(graph.Any(2) == 0 ? 1 : 20); i > 0; i--) {
        values.push_back(static_cast<float>(graph.Any(1000)));
      }
      Group& group = groups.emplace_back(&sink, values);
      for (Request* request : group.all()) {
        inputs[request] = group.values[request->position];
        tick.push_back(request);
        sent.push_back(request);
      }
    }
    InlineTime inline_time;
    bench.Submit(tick, graph.Any(2) == 0 ? &inline_time : nullptr);
    while (graph.Any(3) == 0) {
      Request* const one = sent[graph.Any(static_cast<uint32_t>(sent.size()))];
      cancelled[one] = true;
      bench.Cancel(one);
    }
    if (graph.Any(5) == 0) bench.Bind();
    if (graph.Any(12) == 0) {
      bench.ensemble().Close();
      if (graph.Any(2) == 0) bench.ensemble().Abort(Status::Cancelled("aborted"));
      closed = true;
    }
  }
  CHECK(sink.Wait(sent.size()));
  for (const Request* request : sent) {
    const CountingSink::Seen seen = sink.Of(request);
    CHECK_EQ(seen.answers, 1);
    const float expected = graph.Evaluate(inputs[request]);
    if (seen.status.ok()) {
      CHECK_EQ(seen.value, expected);
    } else if (seen.status.code() == Code::kInternal) {
      CHECK_EQ(seen.status.message(), "in ensemble 'e', model 'm': fails");
      CHECK(std::isnan(expected));
    } else if (seen.status.code() == Code::kCancelled) {
      CHECK(cancelled[request] || closed);
    } else {
      CHECK(closed);
    }
  }
}

}  // namespace

TEST(ensemble_random_graphs_answer_each_request_once_as_evaluated_by_hand) {
  for (uint32_t seed = 1; seed <= 200; seed++) Play(seed);
}

}  // namespace tritonts::test
