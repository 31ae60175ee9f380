// Decisions of the dynamic batcher with priority levels and queue policies, as tables.
#include "engine/scheduling/policy_scheduler.h"

#include <algorithm>
#include <deque>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "units.h"

namespace tritonts::test {

namespace {

using PolicyNames = std::vector<std::string>;
using OnTimeout = QueuePolicy::OnTimeout;

// A request in a table: its name, priority, arrival time, timeout (0: none), rows, and shape.
struct PolicyArrival {
  std::string name;
  uint64_t priority = 0;
  uint64_t at_us = 0;
  uint64_t timeout_us = 0;
  uint32_t rows = 1;
  int64_t shape = 0;
};

// Whether the queue accepted the request.
bool Append(PolicyQueue* queue, Request* request) {
  Status refused;
  return queue->Append({&request, 1}, &refused) == 1;
}

class PolicyBench {
 public:
  PolicyBench(const QueuePolicies& policies, DynamicPolicy policy = {8, {}, 0})
      : policies_(std::make_shared<const QueuePolicies>(policies)),
        scheduler_(std::move(policy), policies_, "m") {}

  // Prepares the request like its version.
  Status Arrive(const PolicyArrival& arrival) {
    RequestHeader& header = headers_.emplace_back();
    header.batch_size = arrival.rows;
    header.arrival_ns = arrival.at_us * kUs;
    header.shape_key = {arrival.shape};
    header.level = policies_->LevelOf(arrival.priority);
    header.deadline_ns =
        policies_->DeadlineOf(header.level, arrival.timeout_us * kUs, header.arrival_ns);
    Request* const request = &requests_.emplace_back();
    request->header = &header;
    names_.push_back(arrival.name);
    return scheduler_.Enqueue(request, header.arrival_ns);
  }
  PolicyBench& Add(const std::vector<PolicyArrival>& arrivals) {
    for (const PolicyArrival& one : arrivals) CHECK(Arrive(one).ok());
    return *this;
  }
  // The requests that expire by then; `wake_us` is when the next one does.
  PolicyNames Expire(uint64_t now_us) {
    expired_.Clear();
    scheduler_.Expire(now_us * kUs, &expired_);
    wake_us = expired_.wake_at_ns / kUs;
    return NamesOf(expired_.requests);
  }
  // The requests that an instance gets then.
  PolicyNames Next(uint64_t now_us = 0, uint32_t instance = 0) {
    Expire(now_us);
    batch_.Clear();
    scheduler_.Next(instance, now_us * kUs, &batch_);
    wake_us = batch_.wake_at_ns / kUs;
    return NamesOf(batch_.members);
  }
  bool Cancel(const std::string& name) { return scheduler_.Cancel(Find(name)); }
  Request* Find(const std::string& name) {
    for (size_t i = 0; i < names_.size(); i++) {
      if (names_[i] == name) return &requests_[i];
    }
    return nullptr;
  }
  PolicyScheduler& scheduler() { return scheduler_; }

  uint64_t wake_us = 0;

 private:
  PolicyNames NamesOf(const std::vector<Request*>& requests) {
    PolicyNames names;
    for (const Request* one : requests) {
      for (size_t i = 0; i < requests_.size(); i++) {
        if (&requests_[i] == one) names.push_back(names_[i]);
      }
    }
    return names;
  }

  const std::shared_ptr<const QueuePolicies> policies_;
  PolicyScheduler scheduler_;
  std::deque<RequestHeader> headers_;
  std::deque<Request> requests_;
  std::vector<std::string> names_;
  Expired expired_;
  Batch batch_;
};

QueuePolicies Levels(uint64_t levels, uint64_t usual, QueuePolicy general = {}) {
  return {levels, usual, general, {}};
}

QueuePolicy Policy(OnTimeout action, uint64_t timeout_us, bool override = false,
                   uint64_t most = 0) {
  return {action, timeout_us * kUs, override, most};
}

}  // namespace

// --- Levels.

TEST(policy_scheduler_serves_the_highest_level_first_and_each_in_order) {
  PolicyBench bench(Levels(3, 2));
  bench.Add({{"c", 3}, {"b1", 2}, {"a1", 1}, {"b2", 2}, {"a2", 1}});
  CHECK_EQ(bench.Next(), (PolicyNames{"a1", "a2", "b1", "b2", "c"}));
}

TEST(policy_scheduler_gives_the_usual_level_to_no_priority_and_to_an_unknown_one) {
  PolicyBench bench(Levels(2, 2), {1, {}, 0});
  bench.Add({{"none", 0}, {"beyond", 3}, {"first", 1}, {"huge", UINT64_MAX}});
  CHECK_EQ(bench.Next(), PolicyNames{"first"});
  CHECK_EQ(bench.Next(), PolicyNames{"none"});
  CHECK_EQ(bench.Next(), PolicyNames{"beyond"});
  CHECK_EQ(bench.Next(), PolicyNames{"huge"});
}

TEST(policy_scheduler_fills_a_batch_from_several_levels_and_leaves_the_rest_in_order) {
  PolicyBench bench(Levels(3, 1), {4, {}, 0});
  bench.Add({{"c1", 3}, {"b1", 2}, {"b2", 2}, {"a1", 1}, {"c2", 3}});
  CHECK_EQ(bench.Next(), (PolicyNames{"a1", "b1", "b2", "c1"}));
  bench.Add({{"a2", 1}, {"b3", 2}});
  CHECK_EQ(bench.Next(), (PolicyNames{"a2", "b3", "c2"}));
  CHECK_EQ(bench.scheduler().waiting(), 0u);
}

TEST(policy_scheduler_has_levels_come_and_go_in_any_order) {
  PolicyBench bench(Levels(1'000'000'000'000, 5), {1, {}, 0});
  bench.Add({{"far", 999'999'999'999}, {"near", 7}});
  CHECK_EQ(bench.Next(), PolicyNames{"near"});
  bench.Add({{"first", 1}, {"middle", 500}});
  CHECK(bench.Cancel("middle"));
  CHECK(!bench.Cancel("middle"));
  bench.Add({{"middle2", 500}});
  CHECK_EQ(bench.Next(), PolicyNames{"first"});
  CHECK_EQ(bench.Next(), PolicyNames{"middle2"});
  CHECK_EQ(bench.Next(), PolicyNames{"far"});
}

TEST(policy_scheduler_waits_for_company_no_longer_than_the_oldest_of_the_batch_may) {
  PolicyBench bench(Levels(2, 1), {4, {}, 100 * kUs});
  bench.Add({{"old", 2, 0}, {"young", 1, 60}});
  CHECK_EQ(bench.Next(70), PolicyNames{});
  // The oldest request is not the first.
  CHECK_EQ(bench.wake_us, 100u);
  CHECK_EQ(bench.Next(100), (PolicyNames{"young", "old"}));
}

TEST(policy_scheduler_batches_across_what_is_bound_elsewhere) {
  PolicyBench bench(Levels(2, 1));
  bench.Add({{"b", 2}, {"a1", 1}, {"a2", 1}, {"a3", 1}});
  bench.Find("a2")->bound = 1;
  CHECK_EQ(bench.Next(0, 0), (PolicyNames{"a1", "a3", "b"}));
  CHECK_EQ(bench.Next(0, 1), PolicyNames{"a2"});
}

// --- Sizes.

TEST(policy_scheduler_refuses_what_is_beyond_the_size_of_its_level) {
  QueuePolicies policies = Levels(2, 1, Policy(OnTimeout::kReject, 0, false, 2));
  policies.own[2] = Policy(OnTimeout::kReject, 0, false, 1);
  PolicyBench bench(policies, {2, {}, 0});
  bench.Add({{"a1", 1}, {"a2", 1}, {"b1", 2}});
  const Status a3 = bench.Arrive({"a3", 1});
  CHECK(a3.code() == Code::kUnavailable);
  CHECK_EQ(a3.message(), std::string("model 'm': the queue of priority level 1 is full: "
                                     "max_queue_size is 2, and 2 requests wait"));
  const Status b2 = bench.Arrive({"b2", 2});
  CHECK_EQ(b2.message(), std::string("model 'm': the queue of priority level 2 is full: "
                                     "max_queue_size is 1, and 1 request waits"));
  // It is the same status object again, and needs no memory.
  CHECK(bench.Arrive({"b3", 2}).SameAs(b2));
  CHECK_EQ(bench.scheduler().waiting(), 3u);
  CHECK_EQ(bench.Next(), (PolicyNames{"a1", "a2"}));
  bench.Add({{"a4", 1}});
  CHECK_EQ(bench.Next(), (PolicyNames{"a4", "b1"}));
}

TEST(policy_scheduler_counts_requests_and_not_rows) {
  PolicyBench bench(Levels(0, 0, Policy(OnTimeout::kReject, 0, false, 2)));
  bench.Add({{"a", 0, 0, 0, 8}, {"b", 0, 0, 0, 8}});
  CHECK_EQ(bench.Arrive({"c"}).message(),
           std::string("model 'm': its queue is full: max_queue_size is 2, and 2 requests wait"));
  CHECK(bench.Cancel("a"));
  CHECK(bench.Arrive({"c"}).ok());
}

TEST(policy_scheduler_counts_the_delayed_ones_too) {
  PolicyBench bench(Levels(0, 0, Policy(OnTimeout::kDelay, 10, false, 2)));
  bench.Add({{"a"}, {"b", 0, 5}});
  CHECK_EQ(bench.Expire(10), PolicyNames{});
  CHECK(!bench.Arrive({"c", 0, 11}).ok());
  CHECK_EQ(bench.scheduler().waiting(), 2u);
}

// --- Times.

TEST(policy_scheduler_ends_what_waits_too_long_while_nobody_takes_anything) {
  PolicyBench bench(Levels(0, 0, Policy(OnTimeout::kReject, 10)));
  bench.Add({{"a", 0, 0}, {"b", 0, 4}, {"c", 0, 4}});
  CHECK_EQ(bench.Expire(9), PolicyNames{});
  CHECK_EQ(bench.wake_us, 10u);
  CHECK_EQ(bench.Expire(10), PolicyNames{"a"});
  CHECK_EQ(bench.wake_us, 14u);
  CHECK_EQ(bench.Expire(20), (PolicyNames{"b", "c"}));
  CHECK_EQ(bench.wake_us, 0u);
  CHECK_EQ(bench.scheduler().waiting(), 0u);
}

TEST(policy_scheduler_takes_a_requests_own_time_where_it_may_and_that_is_shorter) {
  struct Row {
    uint64_t timeout_us;
    bool may_override;
    uint64_t own_us;
    uint64_t expires_us;  // 0: never
  };
  for (const Row& row : std::vector<Row>{{10, true, 4, 4},
                                         {10, true, 14, 10},
                                         {10, true, 0, 10},
                                         {10, false, 4, 10},
                                         {0, true, 4, 4},
                                         {0, true, 0, 0},
                                         {0, false, 4, 0}}) {
    PolicyBench bench(Levels(0, 0, Policy(OnTimeout::kReject, row.timeout_us, row.may_override)));
    bench.Add({{"a", 0, 100, row.own_us}});
    CHECK_EQ(bench.Expire(100), PolicyNames{});
    CHECK_EQ(bench.wake_us, row.expires_us == 0 ? 0 : 100 + row.expires_us);
    if (row.expires_us == 0) {
      CHECK_EQ(bench.Expire(1'000'000), PolicyNames{});
      continue;
    }
    CHECK_EQ(bench.Expire(99 + row.expires_us), PolicyNames{});
    CHECK_EQ(bench.Expire(100 + row.expires_us), PolicyNames{"a"});
  }
}

TEST(policy_scheduler_finds_the_shortest_time_wherever_it_waits) {
  PolicyBench bench(Levels(2, 1, Policy(OnTimeout::kReject, 0, true)));
  bench.Add({{"ever", 1, 0}, {"long", 1, 0, 50}, {"short", 1, 0, 10}, {"other", 2, 0, 30}});
  CHECK_EQ(bench.Expire(5), PolicyNames{});
  CHECK_EQ(bench.wake_us, 10u);
  CHECK(bench.Cancel("short"));
  CHECK_EQ(bench.Expire(29), PolicyNames{});
  CHECK_EQ(bench.wake_us, 30u);
  CHECK_EQ(bench.Expire(30), PolicyNames{"other"});
  CHECK_EQ(bench.Expire(50), PolicyNames{"long"});
  CHECK_EQ(bench.wake_us, 0u);
  CHECK_EQ(bench.Next(60), PolicyNames{"ever"});
}

TEST(policy_scheduler_takes_neighbours_in_as_it_takes_one_after_the_other) {
  std::mt19937 dice(3);
  for (int round = 0; round < 200; round++) {
    const OnTimeout action = dice() % 2 ? OnTimeout::kReject : OnTimeout::kDelay;
    const auto policies =
        std::make_shared<const QueuePolicies>(Levels(3, 2, Policy(action, dice() % 3 * 9, true)));
    struct Side {
      explicit Side(const std::shared_ptr<const QueuePolicies>& policies) : queue(policies, "m") {}
      PolicyQueue queue;
      std::deque<RequestHeader> headers;
      std::deque<Request> requests;
      std::vector<Request*> all;
    };
    Side singly(policies);
    Side together(policies);
    uint64_t now = 0;
    for (int step = 0; step < 12; step++) {
      const uint32_t stretches = 1 + dice() % 3;
      std::vector<Request*> neighbours;
      for (uint32_t i = 0; i < stretches; i++) {
        const uint32_t count = 1 + dice() % 5;
        const uint64_t level = 1 + dice() % 3;
        const uint64_t deadline = dice() % 2 ? now + 1 + dice() % 20 : 0;
        for (Side* side : {&singly, &together}) {
          RequestHeader& header = side->headers.emplace_back();
          header.level = level;
          header.deadline_ns = deadline;
          for (uint32_t one = 0; one < count; one++) {
            side->requests.emplace_back().header = &header;
            side->all.push_back(&side->requests.back());
            if (side == &together) neighbours.push_back(side->all.back());
          }
        }
      }
      // Like a version: a refused request is left out, and the next ones are tried.
      for (size_t i = 0; i < neighbours.size(); i++) {
        Append(&singly.queue, singly.all[singly.all.size() - neighbours.size() + i]);
      }
      for (std::span<Request* const> left = neighbours; !left.empty();) {
        Status refused;
        const size_t taken = together.queue.Append(left, &refused);
        CHECK(taken == left.size() || refused.code() == Code::kUnavailable);
        left = left.subspan(std::min(left.size(), taken + 1));
      }
      now += dice() % 6;
      for (Side* side : {&singly, &together}) {
        Expired expired;
        side->queue.Expire(now, &expired);
      }
      if (!singly.queue.empty() && dice() % 2) {
        singly.queue.Remove(singly.queue.front());
        together.queue.Remove(together.queue.front());
      }
      CHECK_EQ(singly.queue.size(), together.queue.size());
      for (size_t i = 0; i < singly.all.size(); i++) {
        CHECK_EQ(singly.all[i]->queued, together.all[i]->queued);
        CHECK_EQ(singly.all[i]->delayed, together.all[i]->delayed);
      }
      const Request* other = together.queue.front();
      for (const Request* one = singly.queue.front(); one; one = one->next, other = other->next) {
        const auto place = [](const Side& side, const Request* request) {
          return std::find(side.all.begin(), side.all.end(), request) - side.all.begin();
        };
        CHECK_EQ(place(singly, one), place(together, other));
      }
      CHECK(other == nullptr);
    }
  }
}

TEST(policy_scheduler_expires_in_few_steps_whatever_order_the_deadlines_have) {
  constexpr uint32_t kCount = 4096;  // a walk over all of them at each expiry: 8 million
  constexpr uint64_t kSteps = uint64_t{kCount} * 4 * 13;
  for (const OnTimeout action : {OnTimeout::kReject, OnTimeout::kDelay}) {
    PolicyQueue queue(std::make_shared<const QueuePolicies>(Levels(2, 1, Policy(action, 0, true))),
                      "m");
    std::deque<RequestHeader> headers;
    std::deque<Request> requests;
    std::mt19937 dice(7);
    std::vector<uint64_t> times(kCount);
    for (uint32_t i = 0; i < kCount; i++) times[i] = i + 1;
    std::shuffle(times.begin(), times.end(), dice);
    for (const uint64_t at_ns : times) {
      RequestHeader& header = headers.emplace_back();
      header.level = 1 + at_ns % 2;
      header.deadline_ns = at_ns;
      Request& request = requests.emplace_back();
      request.header = &header;
      CHECK(Append(&queue, &request));
    }
    for (uint64_t now = 1; now <= kCount; now++) {
      // A quarter is removed earlier, from any position.
      Request& early = requests[dice() % kCount];
      if (now % 4 == 0 && early.queued) queue.Remove(&early);
      Expired expired;
      queue.Expire(now, &expired);
      for (const Request* one : expired.requests) CHECK_EQ(one->header->deadline_ns, now);
      CHECK(expired.wake_at_ns == 0 || expired.wake_at_ns > now);
    }
    CHECK(queue.work() < kSteps);
    uint64_t last = 0;
    for (const Request* one = queue.front(); one; one = one->next) {
      // Delayed requests are in the order of their deadlines, level by level.
      CHECK(one->delayed);
      if (one->previous && one->previous->header->level != one->header->level) last = 0;
      CHECK(one->header->deadline_ns > last);
      last = one->header->deadline_ns;
    }
    if (action == OnTimeout::kReject) CHECK(queue.empty());
  }
}

TEST(policy_scheduler_expires_requests_of_one_header_wherever_they_wait) {
  using Take = std::vector<size_t>;
  // Two headers of three requests each, a and b: a0 a1 a2 b0 b1 b2. The requests in `again` are
  // requeued behind the others; those in `out` are removed, before any expires.
  for (const Take& again : {Take{}, Take{0}, Take{0, 4}, Take{2, 1}, Take{3, 0, 5}}) {
    for (const Take& out : {Take{}, Take{0}, Take{1, 2}, Take{0, 1, 2}, Take{4, 0}}) {
      PolicyQueue queue(
          std::make_shared<const QueuePolicies>(Levels(1, 1, Policy(OnTimeout::kReject, 0, true))),
          "m");
      RequestHeader headers[2];
      Request requests[6];
      std::vector<Request*> waiting;
      for (size_t i = 0; i < 6; i++) {
        RequestHeader& header = headers[i / 3];
        header.level = 1;
        header.deadline_ns = 10 - i / 3;
        requests[i].header = &header;
        CHECK(Append(&queue, &requests[i]));
      }
      for (const size_t i : again) {
        queue.Remove(&requests[i]);
        CHECK(Append(&queue, &requests[i]));
      }
      for (const size_t i : out) queue.Remove(&requests[i]);
      Request* taken = nullptr;
      queue.TakeNeighbours(queue.front(), 1, &taken);
      size_t left[2] = {0, 0};
      for (const Request* one = queue.front(); one; one = one->next) {
        left[one->header == &headers[1]]++;
      }
      for (const size_t which : {1u, 0u}) {
        Expired expired;
        queue.Expire(headers[which].deadline_ns, &expired);
        CHECK_EQ(expired.requests.size(), left[which]);
        for (const Request* one : expired.requests) CHECK(one->header == &headers[which]);
        CHECK_EQ(headers[which].waiting.count, 0u);
      }
      CHECK(queue.empty());
    }
  }
}

TEST(policy_scheduler_serves_what_is_delayed_behind_its_level_and_before_the_next_one) {
  QueuePolicies policies = Levels(2, 1);
  policies.own[1] = Policy(OnTimeout::kDelay, 10);
  PolicyBench bench(policies);
  bench.Add({{"a1", 1, 0}, {"a2", 1, 2}, {"b", 2, 3}, {"a3", 1, 8}});
  // Delaying produces no response, so no wake-up is needed.
  CHECK_EQ(bench.Expire(5), PolicyNames{});
  CHECK_EQ(bench.wake_us, 0u);
  bench.Add({{"a4", 1, 11}});
  CHECK_EQ(bench.Next(13), (PolicyNames{"a3", "a4", "a1", "a2", "b"}));
}

TEST(policy_scheduler_delays_a_request_once) {
  PolicyBench bench(Levels(0, 0, Policy(OnTimeout::kDelay, 10)), {1, {}, 0});
  bench.Add({{"a", 0, 0}, {"b", 0, 5}});
  CHECK_EQ(bench.Expire(10), PolicyNames{});
  CHECK_EQ(bench.Expire(15), PolicyNames{});
  // Both are delayed, in the order in which they were delayed.
  bench.Add({{"c", 0, 16}});
  CHECK_EQ(bench.Next(20), PolicyNames{"c"});
  CHECK_EQ(bench.Next(1000), PolicyNames{"a"});
  CHECK(bench.Cancel("b"));
  CHECK_EQ(bench.Next(1000), PolicyNames{});
}

TEST(policy_scheduler_gives_a_request_that_comes_again_its_old_time) {
  PolicyBench bench(Levels(0, 0, Policy(OnTimeout::kReject, 10)));
  bench.Add({{"a", 0, 0}});
  CHECK_EQ(bench.Next(5), PolicyNames{"a"});
  CHECK(bench.scheduler().Enqueue(bench.Find("a"), 8 * kUs).ok());
  CHECK_EQ(bench.Expire(9), PolicyNames{});
  CHECK_EQ(bench.Expire(10), PolicyNames{"a"});
}

TEST(policy_scheduler_gives_all_that_waits_back) {
  PolicyBench bench(Levels(2, 1, Policy(OnTimeout::kDelay, 10)));
  bench.Add({{"b", 2}, {"a1", 1}, {"a2", 1, 5}});
  bench.Expire(10);
  RequestChain all;
  bench.scheduler().Drain(&all);
  CHECK_EQ(all.size(), 3u);
  CHECK_EQ(bench.scheduler().waiting(), 0u);
  CHECK(all.front() == bench.Find("a2"));
  bench.Add({{"c", 2, 20}});
  CHECK_EQ(bench.Next(20), PolicyNames{"c"});
}

TEST(policy_scheduler_stands_times_beyond_all_ages) {
  PolicyBench bench(Levels(0, 0, {OnTimeout::kReject, UINT64_MAX / 2, true, 0}));
  bench.Add({{"a", 0, UINT64_MAX / 4000, UINT64_MAX / 1000}});
  CHECK_EQ(bench.Expire(UINT64_MAX / 4000), PolicyNames{});
  CHECK_EQ(bench.Next(UINT64_MAX / 4000), PolicyNames{"a"});
}

TEST(policy_scheduler_keeps_few_levels_that_nobody_waits_in) {
  PolicyQueue queue(std::make_shared<const QueuePolicies>(Levels(1'000'000, 1, {})), "m");
  // Each request has another level, and arrives after the previous one was removed.
  std::deque<RequestHeader> headers;
  std::deque<Request> requests;
  const auto append = [&](uint64_t level) {
    RequestHeader& header = headers.emplace_back();
    header.level = level;
    Request* const request = &requests.emplace_back();
    request->header = &header;
    CHECK(Append(&queue, request));
    return request;
  };
  for (uint64_t level = 1; level <= 1000; level++) queue.Remove(append(level));
  CHECK(queue.levels() <= 64);
  // Levels with waiting requests stay, in order.
  for (uint64_t level = 3000; level > 2000; level--) append(level);
  for (uint64_t level = 1; level <= 1000; level++) queue.Remove(append(level));
  CHECK(queue.levels() >= 1000 && queue.levels() <= 2000);
  for (uint64_t level = 2001; level <= 3000; level++) {
    CHECK_EQ(queue.front()->header->level, level);
    queue.Remove(queue.front());
  }
  for (uint64_t level = 1; level <= 3000; level++) queue.Remove(append(level));
  CHECK(queue.empty() && queue.levels() <= 64);
}

}  // namespace tritonts::test
