// The order in which responses are delivered that come in any order.
#include "engine/batch/response_order.h"

#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "check.h"

namespace tritonts::test {

namespace {

// The events of all runs: "a0" is the final response to request 0 of run a, "a0." one that is not
// final, "a0!" the turn of an awaited request, and "a" the run's completion.
using Given = std::vector<std::string>;

class FakeRun final : public OrderedRun {
 public:
  FakeRun(std::string name, size_t requests, ResponseOrder* order, Given* given)
      : name_(std::move(name)), order_(order), given_(given) {
    ReservePlaces(requests);
    order->Join(this, requests);
  }

  // Responds like a run. Returns whether the responses were delivered at once.
  bool Respond(std::vector<uint32_t> positions, bool final = true) {
    OrderedResponses& responses = responses_.emplace_back();
    responses.positions = std::move(positions);
    responses.is_final = final;
    if (order_->GiveNow(this, &responses)) return true;
    if (order_->Hold(this, &responses)) {
      order_->Go();
    } else {
      Give(&responses, 0, responses.positions.size());
      GaveAll(&responses);
    }
    return false;
  }
  bool Skip(uint32_t position) {
    const bool skipped = order_->Skip(this, position);
    order_->Go();
    return skipped;
  }
  void Await(uint32_t position) {
    CHECK(order_->Await(this, position));
    order_->Go();
  }
  void Leave() { order_->Leave(this); }

  // Called when the first response of the next delivery is given.
  std::function<void()> within;
  size_t finished = 0;  // deliveries

 protected:
  void Give(OrderedResponses* responses, size_t first, size_t count) override {
    for (size_t i = first; i < first + count; i++) {
      given_->push_back(name_ + std::to_string(responses->positions[i]) +
                        (responses->is_final ? "" : "."));
      if (const auto task = std::exchange(within, nullptr)) task();
    }
  }
  void GaveAll(OrderedResponses*) override { finished++; }
  void TakeTurn(uint32_t position) override {
    given_->push_back(name_ + std::to_string(position) + "!");
  }
  void Passed() override { given_->push_back(name_); }

 private:
  const std::string name_;
  ResponseOrder* const order_;
  Given* const given_;
  std::deque<OrderedResponses> responses_;
};

struct OrderBench {
  FakeRun* Run(const std::string& name, size_t requests) {
    return &runs.emplace_back(name, requests, &order, &given);
  }
  // The events since the last call.
  Given Take() { return std::exchange(given, {}); }

  ResponseOrder order;
  Given given;
  std::deque<FakeRun> runs;
};

}  // namespace

TEST(response_order_gives_at_once_whose_turn_it_is) {
  OrderBench bench;
  FakeRun* a = bench.Run("a", 2);
  FakeRun* b = bench.Run("b", 1);
  CHECK(a->Respond({0, 1}));
  CHECK_EQ(bench.Take(), (Given{"a0", "a1", "a"}));
  CHECK(b->Respond({0}));
  CHECK_EQ(bench.Take(), (Given{"b0", "b"}));
}

TEST(response_order_holds_later_runs_until_earlier_ones_are_through) {
  OrderBench bench;
  FakeRun* a = bench.Run("a", 2);
  FakeRun* b = bench.Run("b", 2);
  FakeRun* c = bench.Run("c", 1);
  CHECK(!c->Respond({0}));
  CHECK(!b->Respond({0, 1}));
  CHECK_EQ(bench.Take(), Given{});
  CHECK(a->Respond({0}));
  CHECK_EQ(bench.Take(), Given{"a0"});
  CHECK(a->Respond({1}));
  CHECK_EQ(bench.Take(), (Given{"a1", "a", "b0", "b1", "b", "c0", "c"}));
  CHECK_EQ(b->finished, 1u);
}

TEST(response_order_holds_later_requests_of_a_run_too) {
  OrderBench bench;
  FakeRun* a = bench.Run("a", 4);
  CHECK(!a->Respond({2}));
  CHECK(!a->Respond({1}));
  CHECK_EQ(bench.Take(), Given{});
  CHECK(!a->Respond({0, 3}));
  CHECK_EQ(bench.Take(), (Given{"a0", "a1", "a2", "a3", "a"}));
  CHECK_EQ(a->finished, 3u);
}

TEST(response_order_lets_others_pass_where_a_request_has_no_response_to_come) {
  OrderBench bench;
  FakeRun* a = bench.Run("a", 2);
  FakeRun* b = bench.Run("b", 1);
  CHECK(!b->Respond({0}));
  CHECK(a->Skip(1));
  CHECK_EQ(bench.Take(), Given{});
  CHECK(a->Skip(0));
  CHECK_EQ(bench.Take(), (Given{"a", "b0", "b"}));
}

TEST(response_order_gives_several_responses_to_a_request_in_their_order) {
  OrderBench bench;
  FakeRun* a = bench.Run("a", 1);
  FakeRun* b = bench.Run("b", 2);
  b->Respond({0, 1}, false);
  b->Respond({1}, false);
  b->Respond({0, 1});
  CHECK(a->Respond({0}, false));
  CHECK_EQ(bench.Take(), Given{"a0."});
  CHECK(a->Respond({0}));
  CHECK_EQ(bench.Take(), (Given{"a0", "a", "b0.", "b0", "b1.", "b1.", "b1", "b"}));
}

TEST(response_order_lets_a_request_go_behind_what_is_held_for_it) {
  OrderBench bench;
  FakeRun* a = bench.Run("a", 1);
  FakeRun* b = bench.Run("b", 1);
  b->Respond({0}, false);
  CHECK(!b->Skip(0));
  a->Respond({0});
  CHECK_EQ(bench.Take(), (Given{"a0", "a", "b0.", "b0!", "b"}));
}

TEST(response_order_gives_what_is_awaited_in_its_turn) {
  OrderBench bench;
  FakeRun* a = bench.Run("a", 1);
  FakeRun* b = bench.Run("b", 2);
  b->Await(1);
  b->Respond({0});
  a->Respond({0});
  CHECK_EQ(bench.Take(), (Given{"a0", "a", "b0", "b1!", "b"}));
}

TEST(response_order_forgets_a_run_that_leaves) {
  OrderBench bench;
  FakeRun* a = bench.Run("a", 1);
  FakeRun* b = bench.Run("b", 1);
  FakeRun* c = bench.Run("c", 1);
  CHECK(!b->Respond({0}));
  a->Leave();
  CHECK_EQ(bench.Take(), Given{});
  bench.order.Go();
  CHECK_EQ(bench.Take(), (Given{"b0", "b"}));
  c->Leave();
  bench.Run("d", 1)->Respond({0});
  CHECK_EQ(bench.Take(), (Given{"d0", "d"}));
}

TEST(response_order_takes_responses_that_come_while_it_gives_others) {
  OrderBench bench;
  FakeRun* a = bench.Run("a", 1);
  FakeRun* b = bench.Run("b", 1);
  FakeRun* c = bench.Run("c", 1);
  a->within = [&] {
    CHECK(!c->Respond({0}));
    CHECK(!b->Respond({0}));
    CHECK_EQ(bench.given, Given{"a0"});
  };
  CHECK(a->Respond({0}));
  CHECK_EQ(bench.Take(), (Given{"a0", "a", "b0", "b", "c0", "c"}));
}

TEST(response_order_holds_nothing_once_it_is_open) {
  OrderBench bench;
  FakeRun* a = bench.Run("a", 1);
  FakeRun* b = bench.Run("b", 2);
  FakeRun* c = bench.Run("c", 1);
  c->Respond({0});
  b->Respond({1});
  bench.order.Open();
  CHECK_EQ(bench.Take(), (Given{"a", "b1", "b", "c0", "c"}));
  b->Respond({0});
  a->Respond({0});
  CHECK_EQ(bench.Take(), (Given{"b0", "a0"}));
}

TEST(response_order_keeps_it_whatever_threads_responses_come_from) {
  constexpr uint32_t kThreads = 3;
  constexpr uint32_t kRuns = 3000;
  OrderBench bench;
  Given all;
  for (uint32_t i = 0; i < kRuns; i++) {
    const std::string name = "r" + std::to_string(i) + "_";
    bench.Run(name, 2);
    for (const char* what : {"0", "1", ""}) all.push_back(name + what);
  }
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      for (uint32_t i = t; i < kRuns; i += kThreads) {
        if (i % 2 == 0) {
          bench.runs[i].Respond({0, 1});
        } else {
          bench.runs[i].Respond({1});
          bench.runs[i].Respond({0});
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(bench.given == all);
}

}  // namespace tritonts::test
