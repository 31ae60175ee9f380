// The call graph, which refuses calls that could wait forever: single cases, and random calls, of
// which each admitted one must end.
#include "engine/request/call_graph.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "engine/request/request.h"

namespace tritonts::test {

namespace {

// A request with its own header.
struct Asked {
  RequestHeader header;
  Request request;
  explicit Asked(std::shared_ptr<Call> call) {
    header.call = std::move(call);
    request.header = &header;
  }
  Status Admit(const std::shared_ptr<CallPlaces>& places) {
    Request* const one = &request;
    return header.call->Admit(places, {&one, 1});
  }
};

std::shared_ptr<CallPlaces> Places(const std::string& name, size_t count) {
  auto places = std::make_shared<CallPlaces>(name);
  places->Add(count);
  return places;
}

// A batch that runs these calls.
std::shared_ptr<Caller> RunCall(const std::shared_ptr<CallPlaces>& places,
                                const std::shared_ptr<Call>& serves) {
  std::vector<ServedCall> served;
  if (serves) {
    serves->Took(0, 1);
    served.push_back({0, 1, serves});
  }
  return CallGraph::Get().Begin(places, std::move(served));
}

std::shared_ptr<Call> CallBy(const std::shared_ptr<Caller>& caller, const std::string& model) {
  return Call::Make(CallGraph::Get().Name(caller, 0), model);
}

bool EndsWith(const Status& status, const std::string& text) {
  return status.message().ends_with(text);
}

}  // namespace

TEST(a_call_to_the_only_place_of_its_caller_is_refused) {
  const auto a = Places("a", 1);
  const auto caller = RunCall(a, nullptr);
  Asked asked(CallBy(caller, "a"));
  const Status status = asked.Admit(a);
  CHECK(status.code() == Code::kUnavailable);
  CHECK(EndsWith(status, ": a → a"));
  // The refusal changed nothing.
  Asked other(CallBy(caller, "b"));
  CHECK(other.Admit(Places("b", 1)).ok());
  caller->End();
}

TEST(a_free_place_or_a_batch_without_calls_answers) {
  const auto a = Places("a", 2);
  const auto first = RunCall(a, nullptr);
  Asked asked(CallBy(first, "a"));
  CHECK(asked.Admit(a).ok());
  const auto second = RunCall(a, asked.header.call);
  Asked within(CallBy(second, "a"));
  const Status status = within.Admit(a);
  CHECK(!status.ok());
  CHECK(EndsWith(status, ": a → a → a"));
  second->End();
  asked.header.call->Ended(0);
  first->End();
}

TEST(batches_that_hold_each_other_up_without_a_common_chain_are_found) {
  const auto a = Places("a", 2);
  const auto one = RunCall(a, nullptr);
  const auto two = RunCall(a, nullptr);
  Asked of_one(CallBy(one, "a"));
  // The other batch makes no calls yet, so it ends by itself.
  CHECK(of_one.Admit(a).ok());
  Asked of_two(CallBy(two, "a"));
  CHECK(!of_two.Admit(a).ok());
  two->End();
  const auto inner = RunCall(a, of_one.header.call);
  inner->End();
  of_one.header.call->Ended(0);
  one->End();
}

TEST(a_circle_through_steps_of_an_ensemble_is_found) {
  const auto a = Places("a", 1);
  const auto caller = RunCall(a, nullptr);
  Asked ensemble(CallBy(caller, "e"));
  CHECK(ensemble.Admit(nullptr).ok());
  Asked plus(Call::Step(ensemble.header.call, "plus"));
  CHECK(plus.Admit(nullptr).ok());
  plus.header.call->Ended(0);
  Asked step(Call::Step(ensemble.header.call, "a"));
  const Status status = step.Admit(a);
  CHECK(EndsWith(status, ": a → e → a"));
  caller->End();
}

TEST(calls_are_within_each_other_to_a_limit_and_none_is_made_for_what_has_ended) {
  const auto a = Places("a", 100);
  std::vector<std::unique_ptr<Asked>> all;
  std::vector<std::shared_ptr<Caller>> callers{RunCall(a, nullptr)};
  for (uint32_t i = 0; i < CallGraph::kMostDepth; i++) {
    all.push_back(std::make_unique<Asked>(CallBy(callers.back(), "a")));
    CHECK(all.back()->Admit(a).ok());
    callers.push_back(RunCall(a, all.back()->header.call));
  }
  Asked beyond(CallBy(callers.back(), "a"));
  CHECK(beyond.Admit(a).code() == Code::kInvalidArg);
  const uint32_t number = CallGraph::Get().Name(callers.front(), 0);
  for (const auto& caller : callers) caller->End();
  Asked late(Call::Make(number, "a"));
  CHECK(late.Admit(a).code() == Code::kCancelled);
  CHECK(Call::Make(number | CallGraph::kGuess, "a") == nullptr);
}

namespace {

// Models that call each other, and ensembles of two of them, at random: queues, places and batches,
// without threads.
class World {
 public:
  explicit World(uint32_t seed) : random_(seed) {
    for (int i = 0; i < 4; i++) {
      const size_t places = 1 + Below(3);
      models_.push_back({Places(std::string(1, static_cast<char>('a' + i)), places), {}, places});
    }
  }

  // Returns whether all admitted requests have ended.
  bool Play() {
    for (int i = 0; i < 12; i++) queue_roots_++;
    while (Act()) {
    }
    return live_.empty() &&
           std::ranges::all_of(models_, [](const auto& m) { return m.queue.empty(); });
  }
  size_t refused() const { return refused_; }
  size_t admitted() const { return admitted_; }

 private:
  struct Batch;
  // A request under way: of a batch, or of an ensemble's step.
  struct Asking {
    std::unique_ptr<Asked> asked;  // null: no caller waits
    Batch* by = nullptr;
    Asking* ensemble = nullptr;
    size_t next = 0;  // for an ensemble: the model of its second step
    bool second = false;
  };
  struct Batch {
    size_t model = 0;
    Asking* serves = nullptr;
    std::shared_ptr<Caller> caller;
    int left = 0;  // calls still to make
    int open = 0;
  };
  struct Model {
    std::shared_ptr<CallPlaces> places;
    std::deque<Asking*> queue;
    size_t free;
  };

  uint32_t Below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  void Done(Asking* asking) {
    if (asking->asked) asking->asked->header.call->Ended(0);
    if (Asking* const outer = asking->ensemble) {
      if (asking->second || !Send(outer->by, outer, outer->next, true)) Done(outer);
    } else if (asking->by) {
      asking->by->open--;
    }
    std::erase_if(askings_, [&](const auto& one) { return one.get() == asking; });
  }

  // Sends a request of a batch, or of an ensemble's step. Returns false if it was refused.
  bool Send(Batch* by, Asking* ensemble, size_t model, bool second) {
    auto asking = std::make_unique<Asking>();
    asking->by = by;
    asking->ensemble = ensemble;
    asking->second = second;
    Model& to = models_[model];
    if (ensemble) {
      asking->asked =
          std::make_unique<Asked>(Call::Step(ensemble->asked->header.call, to.places->model()));
    } else {
      asking->asked = std::make_unique<Asked>(
          Call::Make(CallGraph::Get().Name(by->caller, 0), to.places->model()));
    }
    if (!asking->asked->Admit(to.places).ok()) {
      refused_++;
      return false;
    }
    admitted_++;
    to.queue.push_back(asking.get());
    askings_.push_back(std::move(asking));
    return true;
  }

  void MakeCall(Batch* batch) {
    batch->left--;
    if (!batch->caller) {
      std::vector<ServedCall> served;
      if (batch->serves && batch->serves->asked) {
        served.push_back({0, 1, batch->serves->asked->header.call});
      }
      batch->caller = CallGraph::Get().Begin(models_[batch->model].places, std::move(served));
    }
    if (Below(3) > 0) {
      if (Send(batch, nullptr, Below(4), false)) batch->open++;
      return;
    }
    auto outer = std::make_unique<Asking>();
    outer->by = batch;
    outer->next = Below(4);
    outer->asked =
        std::make_unique<Asked>(Call::Make(CallGraph::Get().Name(batch->caller, 0), "e"));
    if (!outer->asked->Admit(nullptr).ok()) return;
    Asking* const ensemble = outer.get();
    askings_.push_back(std::move(outer));
    batch->open++;
    if (!Send(batch, ensemble, Below(4), false)) Done(ensemble);
  }

  // Takes one possible action. Returns false if there is none.
  bool Act() {
    const uint32_t first = Below(64);
    for (uint32_t i = 0; i < 64; i++) {
      const uint32_t what = (first + i) % 64;
      if (what < 8) {
        if (queue_roots_ == 0) continue;
        queue_roots_--;
        auto root = std::make_unique<Asking>();
        models_[Below(4)].queue.push_back(root.get());
        askings_.push_back(std::move(root));
        return true;
      }
      if (what < 24) {
        Model& model = models_[what % 4];
        if (model.free == 0 || model.queue.empty()) continue;
        model.free--;
        auto batch = std::make_unique<Batch>();
        batch->model = what % 4;
        batch->serves = model.queue.front();
        model.queue.pop_front();
        if (batch->serves->asked) batch->serves->asked->header.call->Took(0, 1);
        batch->left = static_cast<int>(Below(3));
        live_.push_back(std::move(batch));
        return true;
      }
      if (what >= 24 + live_.size()) continue;
      Batch* const batch = live_[what - 24].get();
      if (batch->left > 0 && (batch->open == 0 || Below(2) == 0)) {
        MakeCall(batch);
        return true;
      }
      if (batch->left > 0 || batch->open > 0) continue;
      if (batch->caller) batch->caller->End();
      models_[batch->model].free++;
      Done(batch->serves);
      std::erase_if(live_, [&](const auto& one) { return one.get() == batch; });
      return true;
    }
    return false;
  }

  std::mt19937 random_;
  std::vector<Model> models_;
  std::vector<std::unique_ptr<Asking>> askings_;
  std::vector<std::unique_ptr<Batch>> live_;
  int queue_roots_ = 0;
  size_t refused_ = 0;
  size_t admitted_ = 0;
};

}  // namespace

TEST(whatever_models_call_what_was_admitted_ends) {
  size_t refused = 0;
  size_t admitted = 0;
  for (uint32_t seed = 1; seed <= 2000; seed++) {
    World world(seed);
    if (!world.Play()) {
      CHECK_EQ(seed, 0u);  // it hangs
      return;
    }
    refused += world.refused();
    admitted += world.admitted();
  }
  CHECK(refused > 100);
  CHECK(admitted > 1000);
}

}  // namespace tritonts::test
