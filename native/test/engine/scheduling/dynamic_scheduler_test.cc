// The dynamic batcher's and the default scheduler's decisions, as tables.
#include "engine/scheduling/dynamic_scheduler.h"

#include <algorithm>
#include <deque>
#include <random>

#include "check.h"
#include "units.h"

namespace tritonts::test {

namespace {

using Sizes = std::vector<uint32_t>;

// A request in a table: its rows, arrival time and shape.
struct Arrival {
  uint32_t rows = 1;
  uint64_t at_ns = 0;
  int64_t shape = 0;
};

class DynamicBench {
 public:
  explicit DynamicBench(DynamicPolicy policy) : scheduler_(std::move(policy)) {}

  Request* Arrive(Arrival arrival) {
    RequestHeader& header = headers_.emplace_back();
    header.batch_size = arrival.rows;
    header.arrival_ns = arrival.at_ns;
    header.shape_key = {arrival.shape};
    Request* request = &requests_.emplace_back();
    request->header = &header;
    CHECK(scheduler_.Enqueue(request, arrival.at_ns).ok());
    return request;
  }
  DynamicBench& Add(const Sizes& rows, uint64_t at_ns = 0) {
    for (const uint32_t one : rows) Arrive({one, at_ns});
    return *this;
  }
  // The rows of the requests that an instance gets now.
  Sizes Next(uint64_t now_ns = 0, uint32_t instance = 0) {
    batch.Clear();
    scheduler_.Next(instance, now_ns, &batch);
    Sizes rows;
    for (const Request* request : batch.members) rows.push_back(request->header->batch_size);
    return rows;
  }
  // All batches available now.
  std::vector<Sizes> Rest(uint64_t now_ns = 0) {
    std::vector<Sizes> batches;
    while (true) {
      Sizes rows = Next(now_ns);
      if (rows.empty()) return batches;
      batches.push_back(std::move(rows));
    }
  }
  DynamicScheduler& scheduler() { return scheduler_; }

  Batch batch;

 private:
  DynamicScheduler scheduler_;
  std::deque<RequestHeader> headers_;
  std::deque<Request> requests_;
};

}  // namespace

// --- Without dynamic batching.

TEST(default_scheduler_runs_every_request_alone_in_order) {
  DynamicBench bench({});
  bench.Add({3, 1, 2});
  CHECK_EQ(bench.Rest(), (std::vector<Sizes>{{3}, {1}, {2}}));
}

TEST(default_scheduler_never_waits) {
  DynamicBench bench({0, {}, 100 * kUs});
  bench.Add({1});
  CHECK_EQ(bench.Next(), Sizes{1});
  CHECK_EQ(bench.batch.wake_at_ns, 0u);
}

TEST(scheduler_of_an_empty_queue_gives_nothing_and_asks_for_no_time) {
  for (const uint32_t most : {0u, 4u}) {
    DynamicBench bench({most, {}, 100 * kUs});
    CHECK_EQ(bench.Next(50), Sizes{});
    CHECK_EQ(bench.batch.wake_at_ns, 0u);
  }
}

// --- What fits.

TEST(dynamic_scheduler_takes_what_waits_up_to_the_maximum) {
  DynamicBench bench({4, {}, 0});
  bench.Add({1, 1, 1, 1, 1, 1});
  CHECK_EQ(bench.Rest(), (std::vector<Sizes>{{1, 1, 1, 1}, {1, 1}}));
}

TEST(dynamic_scheduler_neither_splits_requests_nor_lets_smaller_ones_overtake) {
  DynamicBench bench({4, {}, 0});
  bench.Add({3, 3, 1});
  CHECK_EQ(bench.Rest(), (std::vector<Sizes>{{3}, {3, 1}}));
}

TEST(dynamic_scheduler_runs_a_request_of_the_maximum_alone) {
  DynamicBench bench({4, {}, 100 * kUs});
  bench.Add({4, 1});
  CHECK_EQ(bench.Next(), Sizes{4});
}

TEST(dynamic_scheduler_closes_a_batch_at_another_shape) {
  DynamicBench bench({8, {}, 0});
  for (const int64_t shape : {1, 1, 2, 1}) bench.Arrive({1, 0, shape});
  CHECK_EQ(bench.Rest(), (std::vector<Sizes>{{1, 1}, {1}, {1}}));
}

// --- Preferred sizes.

TEST(dynamic_scheduler_cuts_a_backlog_to_the_preferred_size_and_runs_the_rest) {
  DynamicBench bench({8, {4}, 0});
  bench.Add({1, 1, 1, 1, 1, 1});
  CHECK_EQ(bench.Rest(), (std::vector<Sizes>{{1, 1, 1, 1}, {1, 1}}));
}

TEST(dynamic_scheduler_prefers_the_largest_size_that_is_reached) {
  DynamicBench bench({8, {2, 4}, 0});
  bench.Add({1, 1, 1, 1, 1});
  CHECK_EQ(bench.Rest(), (std::vector<Sizes>{{1, 1, 1, 1}, {1}}));
}

TEST(dynamic_scheduler_takes_preferred_sizes_in_any_order) {
  DynamicBench bench({8, {4, 2}, 0});
  bench.Add({1, 1, 1, 1, 1});
  CHECK_EQ(bench.Next(), (Sizes{1, 1, 1, 1}));
}

TEST(dynamic_scheduler_takes_all_where_the_sum_only_jumps_over_preferred_sizes) {
  DynamicBench bench({8, {4}, 0});
  bench.Add({3, 3});
  CHECK_EQ(bench.Rest(), (std::vector<Sizes>{{3, 3}}));
}

TEST(dynamic_scheduler_cuts_to_a_smaller_preferred_size_where_the_larger_is_jumped_over) {
  DynamicBench bench({8, {2, 4}, 0});
  bench.Add({2, 1, 2});
  CHECK_EQ(bench.Rest(), (std::vector<Sizes>{{2}, {1, 2}}));
}

TEST(dynamic_scheduler_counts_rows_not_requests) {
  DynamicBench bench({8, {4}, 0});
  bench.Add({2, 2, 2});
  CHECK_EQ(bench.Rest(), (std::vector<Sizes>{{2, 2}, {2}}));
}

// --- The queue delay.

TEST(dynamic_scheduler_waits_for_the_rest_of_the_delay) {
  DynamicBench bench({8, {}, 100 * kUs});
  bench.Add({1}, 1000).Add({1}, 5000);
  CHECK_EQ(bench.Next(20'000), Sizes{});
  CHECK_EQ(bench.batch.wake_at_ns, 1000 + 100 * kUs);
  CHECK_EQ(bench.Next(1000 + 100 * kUs - 1), Sizes{});
  CHECK_EQ(bench.batch.wake_at_ns, 1000 + 100 * kUs);
  CHECK_EQ(bench.Next(1000 + 100 * kUs), (Sizes{1, 1}));
  CHECK_EQ(bench.batch.wake_at_ns, 0u);
}

TEST(dynamic_scheduler_goes_at_once_when_any_preferred_size_is_reached) {
  DynamicBench bench({8, {2, 4}, 100 * kUs});
  bench.Add({1});
  CHECK_EQ(bench.Next(), Sizes{});
  bench.Add({1});
  CHECK_EQ(bench.Next(), (Sizes{1, 1}));
}

TEST(dynamic_scheduler_waits_for_the_maximum_without_preferred_sizes) {
  DynamicBench bench({3, {}, 100 * kUs});
  bench.Add({1, 1});
  CHECK_EQ(bench.Next(), Sizes{});
  bench.Add({1});
  CHECK_EQ(bench.Next(), (Sizes{1, 1, 1}));
}

TEST(dynamic_scheduler_runs_one_request_as_big_as_the_largest_preferred_size_at_once) {
  for (const uint32_t rows : {4u, 5u}) {
    DynamicBench bench({8, {2, 4}, 100 * kUs});
    bench.Add({rows});
    CHECK_EQ(bench.Next(), Sizes{rows});
  }
}

TEST(dynamic_scheduler_waits_between_preferred_sizes) {
  DynamicBench bench({8, {2, 6}, 100 * kUs});
  bench.Add({3});
  CHECK_EQ(bench.Next(), Sizes{});
  CHECK_EQ(bench.batch.wake_at_ns, 100 * kUs);
}

TEST(dynamic_scheduler_closes_a_waiting_batch_at_another_shape) {
  DynamicBench bench({8, {}, 100 * kUs});
  bench.Arrive({1, 0, 1});
  bench.Arrive({1, 0, 2});
  CHECK_EQ(bench.Next(), Sizes{1});
  // The request with another shape waits for requests of its shape.
  CHECK_EQ(bench.Next(), Sizes{});
  CHECK_EQ(bench.batch.wake_at_ns, 100 * kUs);
}

TEST(dynamic_scheduler_closes_a_waiting_batch_at_a_request_that_does_not_fit) {
  DynamicBench bench({4, {}, 100 * kUs});
  bench.Add({2, 3});
  CHECK_EQ(bench.Next(), Sizes{2});
  CHECK_EQ(bench.Next(), Sizes{});
}

TEST(dynamic_scheduler_takes_all_that_fits_when_the_delay_is_over) {
  DynamicBench bench({8, {4}, 100 * kUs});
  bench.Add({1, 1, 1, 1, 1, 1});
  CHECK_EQ(bench.Next(100 * kUs), (Sizes{1, 1, 1, 1, 1, 1}));
}

TEST(dynamic_scheduler_goes_by_the_oldest_request_of_what_waits) {
  DynamicBench bench({8, {4}, 100 * kUs});
  bench.Add({1, 1}, 0).Add({1, 1, 1, 1}, 90 * kUs);
  CHECK_EQ(bench.Next(99 * kUs), (Sizes{1, 1, 1, 1}));
  // The remaining request arrived later.
  CHECK_EQ(bench.Next(100 * kUs), Sizes{});
  CHECK_EQ(bench.batch.wake_at_ns, 190 * kUs);
}

TEST(dynamic_scheduler_takes_a_clock_that_is_behind_an_arrival) {
  DynamicBench bench({8, {}, 100 * kUs});
  bench.Add({1}, 50 * kUs);
  CHECK_EQ(bench.Next(10 * kUs), Sizes{});
  CHECK_EQ(bench.batch.wake_at_ns, 150 * kUs);
}

TEST(dynamic_scheduler_with_a_delay_beyond_time_waits_in_the_future) {
  DynamicBench bench({8, {}, UINT64_MAX});
  bench.Add({1}, 1000 * kUs);
  CHECK_EQ(bench.Next(2000 * kUs), Sizes{});
  CHECK(bench.batch.wake_at_ns > 2000 * kUs);
}

// --- Why a batch has no more requests.

namespace {

void CheckClosed(const DynamicPolicy& policy, const std::vector<Arrival>& waiting, uint64_t now_ns,
                 const Sizes& batch, ClosedBy closed_by) {
  DynamicBench bench(policy);
  for (const Arrival& arrival : waiting) bench.Arrive(arrival);
  CHECK_EQ(bench.Next(now_ns), batch);
  CHECK(bench.batch.closed_by == closed_by);
}

}  // namespace

TEST(dynamic_scheduler_says_why_a_batch_has_no_more_requests) {
  const Arrival one{1};
  const Arrival two{2};
  const Arrival four{4};
  const Arrival other{1, 0, 2};
  CheckClosed({0, {}, 0}, {one, one}, 0, {1}, ClosedBy::kFull);
  CheckClosed({2, {}, 0}, {one, one, one}, 0, {1, 1}, ClosedBy::kFull);
  CheckClosed({2, {}, 0}, {one, two}, 0, {1}, ClosedBy::kFull);
  CheckClosed({8, {2}, 0}, {one, one, one}, 0, {1, 1}, ClosedBy::kPreferred);
  CheckClosed({8, {2}, 0}, {one, one}, 0, {1, 1}, ClosedBy::kPreferred);
  CheckClosed({8, {2}, 0}, {four}, 0, {4}, ClosedBy::kPreferred);
  CheckClosed({8, {2, 8}, 0}, {four, four}, 0, {4, 4}, ClosedBy::kFull);
  CheckClosed({8, {}, 10}, {one, one}, 10, {1, 1}, ClosedBy::kDelay);
  CheckClosed({2, {}, 10}, {one, one}, 10, {1, 1}, ClosedBy::kFull);
  CheckClosed({8, {}, 0}, {one, other}, 0, {1}, ClosedBy::kShape);
  CheckClosed({8, {}, 0}, {one, one}, 0, {1, 1}, ClosedBy::kNothingMore);
}

// --- Taking requests out.

TEST(dynamic_scheduler_forgets_a_request_cancelled_in_the_middle) {
  DynamicBench bench({8, {}, 0});
  bench.Add({1});
  Request* two = bench.Arrive({2});
  bench.Add({3});
  CHECK(bench.scheduler().Cancel(two));
  CHECK_EQ(bench.scheduler().waiting(), 2u);
  CHECK_EQ(bench.Next(), (Sizes{1, 3}));
}

TEST(dynamic_scheduler_cancels_a_request_once_and_only_while_it_waits) {
  DynamicBench bench({8, {}, 0});
  Request* cancelled = bench.Arrive({1});
  Request* taken = bench.Arrive({1});
  CHECK(bench.scheduler().Cancel(cancelled));
  CHECK(!bench.scheduler().Cancel(cancelled));
  CHECK_EQ(bench.Next(), Sizes{1});
  CHECK(!bench.scheduler().Cancel(taken));
}

TEST(dynamic_scheduler_opens_a_batch_again_when_what_closed_it_is_cancelled) {
  DynamicBench bench({8, {}, 100 * kUs});
  bench.Arrive({1, 0, 1});
  Request* other = bench.Arrive({1, 0, 2});
  bench.scheduler().Cancel(other);
  CHECK_EQ(bench.Next(), Sizes{});
}

TEST(dynamic_scheduler_times_the_next_request_when_the_oldest_is_cancelled) {
  DynamicBench bench({8, {}, 100 * kUs});
  Request* oldest = bench.Arrive({1, 0});
  bench.Add({1}, 40 * kUs);
  bench.scheduler().Cancel(oldest);
  CHECK_EQ(bench.Next(100 * kUs), Sizes{});
  CHECK_EQ(bench.batch.wake_at_ns, 140 * kUs);
}

TEST(dynamic_scheduler_drains_oldest_first) {
  DynamicBench bench({8, {}, 100 * kUs});
  bench.Add({3, 1, 2});
  RequestChain drained;
  bench.scheduler().Drain(&drained);
  Sizes rows;
  while (!drained.empty()) rows.push_back(drained.Pop()->header->batch_size);
  CHECK_EQ(rows, (Sizes{3, 1, 2}));
  CHECK_EQ(bench.scheduler().waiting(), 0u);
  CHECK_EQ(bench.Next(1000 * kUs), Sizes{});
}

// --- Against an independent model of the rule.

namespace {

struct DynamicModel {
  DynamicPolicy policy;
  std::vector<std::pair<Arrival, Request*>> queue;

  // Whether all have the same shape.
  bool MayRunAll() const {
    return std::all_of(queue.begin(), queue.end(),
                       [this](const auto& one) { return one.first.shape == queue[0].first.shape; });
  }
  uint32_t RowsOf(size_t count) const {
    uint32_t rows = 0;
    for (size_t i = 0; i < count; i++) rows += queue[i].first.rows;
    return rows;
  }
  // Whether the first `count` requests may run together.
  bool MayRun(size_t count) const {
    for (size_t i = 1; i < count; i++) {
      if (queue[i].first.shape != queue[0].first.shape) return false;
    }
    return count <= 1 || RowsOf(count) <= policy.max_batch_size;
  }
  // The number of requests of the first one's shape that run now; 0 and a time: wait until then.
  size_t DecideAcross(uint64_t now_ns, uint64_t* wake_at_ns) const {
    if (queue.empty()) return 0;
    DynamicModel alike{policy, {}};
    DynamicModel others{policy, {}};
    for (const auto& one : queue) {
      (one.first.shape == queue[0].first.shape ? alike : others).queue.push_back(one);
    }
    const size_t count = alike.Decide(now_ns, wake_at_ns);
    if (count > 0 || others.queue.empty()) return count;
    // Requests of this shape would wait. Requests of other shapes limit that time.
    Sizes preferred = policy.preferred_batch_sizes;
    if (preferred.empty()) preferred = {policy.max_batch_size};
    const uint32_t enough = *std::min_element(preferred.begin(), preferred.end());
    if (others.RowsOf(others.queue.size()) < enough) return 0;
    *wake_at_ns = 0;
    return alike.queue.size();
  }
  // The queue positions of the first `count` requests of the first one's shape.
  std::vector<size_t> Positions(size_t count) const {
    std::vector<size_t> found;
    for (size_t i = 0; found.size() < count; i++) {
      if (policy.max_batch_size == 0 || queue[i].first.shape == queue[0].first.shape) {
        found.push_back(i);
      }
    }
    return found;
  }
  // The number of requests that run now; 0 and a time: wait until then.
  size_t Decide(uint64_t now_ns, uint64_t* wake_at_ns) const {
    *wake_at_ns = 0;
    if (queue.empty()) return 0;
    if (policy.max_batch_size == 0) return 1;
    if (policy.across_shapes && !MayRunAll()) return DecideAcross(now_ns, wake_at_ns);
    Sizes preferred = policy.preferred_batch_sizes;
    if (preferred.empty()) preferred = {policy.max_batch_size};
    size_t fits = 0;
    while (fits < queue.size() && MayRun(fits + 1)) fits++;
    const uint64_t oldest = queue[0].first.at_ns;
    const bool waits = policy.max_queue_delay_ns > 0;
    if (waits && now_ns >= oldest + policy.max_queue_delay_ns) return fits;
    for (size_t count = fits; count > 0; count--) {
      if (std::find(preferred.begin(), preferred.end(), RowsOf(count)) != preferred.end()) {
        return count;
      }
    }
    const bool closed = fits < queue.size();
    const bool enough = RowsOf(fits) >= *std::max_element(preferred.begin(), preferred.end());
    if (!waits || closed || enough) return fits;
    *wake_at_ns = oldest + policy.max_queue_delay_ns;
    return 0;
  }
};

void PlayRandomly(std::mt19937& random) {
  const auto pick = [&](uint32_t most) { return static_cast<uint32_t>(random() % (most + 1)); };
  DynamicPolicy policy;
  policy.max_batch_size = pick(3) == 0 ? 0 : 1 + pick(9);
  if (policy.max_batch_size > 0) {
    for (uint32_t size = 1; size <= policy.max_batch_size; size++) {
      if (pick(3) == 0) policy.preferred_batch_sizes.push_back(size);
    }
  }
  policy.max_queue_delay_ns = pick(1) == 0 ? 0 : 1 + pick(50);
  policy.across_shapes = pick(1) == 0;
  const uint32_t shapes = pick(3);
  DynamicBench bench(policy);
  DynamicModel model{policy, {}};
  uint64_t now = 1;
  for (int step = 0; step < 60; step++) {
    now += pick(10);
    const uint32_t choice = pick(9);
    if (choice < 6) {
      const Arrival arrival{1 + pick(std::max(1u, policy.max_batch_size) - 1), now, pick(shapes)};
      model.queue.push_back({arrival, bench.Arrive(arrival)});
    } else if (choice == 6 && !model.queue.empty()) {
      const size_t which = pick(static_cast<uint32_t>(model.queue.size() - 1));
      CHECK(bench.scheduler().Cancel(model.queue[which].second));
      model.queue.erase(model.queue.begin() + static_cast<ptrdiff_t>(which));
    } else {
      uint64_t wake_at = 0;
      const size_t count = model.Decide(now, &wake_at);
      bench.Next(now);
      std::vector<Request*> expected;
      const std::vector<size_t> positions = model.Positions(count);
      for (const size_t i : positions) expected.push_back(model.queue[i].second);
      // The oldest request leads.
      if (count > 0) CHECK(bench.batch.members.front() == model.queue[0].second);
      for (auto i = positions.rbegin(); i != positions.rend(); ++i) {
        model.queue.erase(model.queue.begin() + static_cast<ptrdiff_t>(*i));
      }
      CHECK(bench.batch.members == expected);
      CHECK_EQ(bench.batch.wake_at_ns, wake_at);
    }
    CHECK_EQ(bench.scheduler().waiting(), model.queue.size());
  }
}

}  // namespace

TEST(dynamic_scheduler_agrees_with_the_rule_on_random_queues) {
  std::mt19937 random(20261121);
  for (int game = 0; game < 2000; game++) PlayRandomly(random);
}

// --- Requests that are bound to an instance.

TEST(scheduler_gives_an_instance_what_is_bound_to_it_or_to_none) {
  for (const uint32_t most : {0u, 4u}) {
    DynamicBench bench({most, {}, 0});
    bench.Arrive({1})->bound = 1;
    bench.Arrive({2});
    bench.Arrive({1})->bound = 2;
    CHECK_EQ(bench.Next(0, 0), Sizes{2});
    CHECK_EQ(bench.Next(0, 0), Sizes{});
    CHECK_EQ(bench.scheduler().waiting(), 2u);
    CHECK_EQ(bench.Next(0, 2), Sizes{1});
    CHECK_EQ(bench.Next(0, 1), Sizes{1});
  }
}

TEST(dynamic_scheduler_batches_across_what_is_bound_elsewhere) {
  DynamicBench bench({4, {2}, 100 * kUs});
  bench.Arrive({1, 0})->bound = 1;
  bench.Arrive({1, 10, 5});
  bench.Arrive({3, 20, 7})->bound = 1;
  bench.Arrive({1, 30, 5});
  CHECK_EQ(bench.Next(40, 0), (Sizes{1, 1}));
  // The other requests have different shapes: the first one's batch is closed.
  CHECK_EQ(bench.Next(40, 1), Sizes{1});
  CHECK_EQ(bench.Next(40, 1), Sizes{3});
}

TEST(dynamic_scheduler_waits_for_the_oldest_request_that_an_instance_may_have) {
  DynamicBench bench({4, {}, 100 * kUs});
  bench.Arrive({1, 0})->bound = 1;
  bench.Arrive({1, 10 * kUs});
  CHECK_EQ(bench.Next(20 * kUs, 0), Sizes{});
  CHECK_EQ(bench.batch.wake_at_ns, 110 * kUs);
  CHECK_EQ(bench.Next(20 * kUs, 1), Sizes{});
  CHECK_EQ(bench.batch.wake_at_ns, 100 * kUs);
}

}  // namespace tritonts::test
