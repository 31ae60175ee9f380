// Decisions of the sequence batcher: slots, backlog, and how sequences end.
#include <string>
#include <vector>

#include "sequence_bench.h"

namespace tritonts::test {

namespace {

constexpr auto kDirectly = SequencePolicy::Strategy::kDirect;
constexpr auto kByAge = SequencePolicy::Strategy::kOldest;

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(sequence_gets_the_free_slot_with_the_lowest_index_over_all_instances) {
  SequenceBench bench(PolicyOf(kDirectly, 2), 2);
  bench.Sequence("a", 1, "S").Sequence("b", 2, "S").Sequence("c", 3, "S").Sequence("d", 4, "S");
  CHECK_EQ(bench.Next(0, 0), std::string("a1 c1"));
  CHECK_EQ(bench.Next(0, 1), std::string("b1 d1"));
  CHECK_EQ(bench.counts().live, 4u);
}

TEST(sequence_slots_of_a_removed_instance_leave_as_its_sequences_end) {
  for (const auto strategy : {kDirectly, kByAge}) {
    SequenceBench bench(PolicyOf(strategy, 1), 2);
    bench.Sequence("a", 1, "S,E").Sequence("b", 2, "S,E").Sequence("c", 3, "S,E");
    bench.scheduler().RemoveInstance(1);
    CHECK(bench.scheduler().Holds(1));
    // Its sequence goes on there.
    CHECK_EQ(bench.Next(0, 1), std::string("b1"));
    CHECK_EQ(bench.Done(0, 1).Next(0, 1), std::string("b2"));
    bench.Done(0, 1);
    CHECK(!bench.scheduler().Holds(1));
    CHECK_EQ(bench.counts().slots, 1u);
    // The backlog gets no slot of it.
    CHECK_EQ(bench.Next(0, 1), std::string(""));
    CHECK_EQ(bench.counts().backlog, 1u);
    CHECK_EQ(bench.Next(), std::string("a1"));
    bench.Done();
    CHECK_EQ(bench.Next(), std::string("a2"));
    bench.Done();
    CHECK_EQ(bench.Next(), std::string("c1"));
    CHECK_EQ(bench.counts().live, 1u);
  }
}

TEST(sequence_backlog_gets_the_slots_of_a_new_instance_at_once) {
  for (const auto strategy : {kDirectly, kByAge}) {
    SequenceBench bench(PolicyOf(strategy, 2), 2);
    bench.scheduler().RemoveInstance(1);
    bench.Sequence("a", 1, "S").Sequence("b", 2, "S").Sequence("c", 3, "S").Sequence("d", 4, "S");
    bench.Sequence("e", 5, "S");
    CHECK_EQ(bench.counts().backlog, 3u);
    bench.scheduler().AddInstance(1);
    CHECK_EQ(bench.counts().slots, 4u);
    CHECK_EQ(bench.counts().backlog, 1u);
    CHECK_EQ(bench.Next(0, 0), std::string("a1 b1"));
    CHECK_EQ(bench.Next(0, 1), std::string("c1 d1"));
  }
}

TEST(sequence_new_instances_have_the_first_free_slots) {
  SequenceBench bench(PolicyOf(kDirectly, 3), 2);
  bench.scheduler().RemoveInstance(1);
  bench.Sequence("a", 1, "S").Sequence("b", 2, "S");
  bench.scheduler().AddInstance(1);
  bench.Sequence("c", 3, "S").Sequence("d", 4, "S").Sequence("e", 5, "S").Sequence("f", 6, "S");
  CHECK_EQ(bench.Next(0, 0), std::string("a1 b1 e1"));
  CHECK_EQ(bench.Next(0, 1), std::string("c1 d1 f1"));
  CHECK_EQ(bench.counts().live, 6u);
  CHECK_EQ(bench.counts().backlog, 0u);
}

TEST(sequence_ids_tell_how_their_last_sequence_fared) {
  SequenceBench bench(PolicyOf(kDirectly, 4));
  const auto fate = [&](uint64_t number) { return bench.scheduler().FateOf({number, ""}); };
  bench.Sequence("a", 1, "S").Sequence("b", 2, "SE");
  CHECK(fate(1) == SequenceFate::kLive);
  CHECK(fate(2) == SequenceFate::kEnded);
  CHECK(fate(3) == SequenceFate::kUnknown);
  bench.Next();
  bench.Done();
  bench.Expire(1'000'000);
  CHECK(fate(1) == SequenceFate::kIdled);
}

TEST(sequence_direct_rows_are_slots_and_gaps_are_empty) {
  SequenceBench bench(PolicyOf(kDirectly, 4));
  bench.Sequence("a", 1, "S,,E").Sequence("b", 2, "S,E").Sequence("c", 3, "S,,");
  CHECK_EQ(bench.Next(), std::string("a1 b1 c1"));
  CHECK_EQ(bench.Next(), std::string(""));
  CHECK_EQ(bench.Done().Next(), std::string("a2 b2 c2"));
  // The slot of b is free; rows above the highest one with a request are left out.
  CHECK_EQ(bench.Done().Next(), std::string("a3 - c3"));
  bench.Done().Sequence("d", 4, "S");
  CHECK_EQ(bench.Next(), std::string("d1"));
}

TEST(sequence_direct_leaves_other_shapes_for_a_later_batch) {
  SequenceBench bench(PolicyOf(kDirectly, 4));
  bench.Add({{"a1", {1, ""}, "S", 10, 0, 7},
             {"b1", {2, ""}, "S", 5, 0, 8},
             {"c1", {3, ""}, "S", 12, 0, 8}});
  // The request that has waited longest decides.
  CHECK_EQ(bench.Next(20), std::string("- b1 c1"));
  CHECK(bench.closed_by == ClosedBy::kShape);
  CHECK_EQ(bench.Done().Next(20), std::string("a1"));
}

TEST(sequence_direct_waits_only_with_a_share_and_a_delay) {
  struct Row {
    float share;
    uint64_t delay_us;
    std::string at_once;
  };
  const std::vector<Row> rows = {
      {0, 0, "a1"}, {0.75f, 0, "a1"}, {0, 100, "a1"}, {0.75f, 100, ""}, {0.25f, 100, "a1"}};
  for (const Row& row : rows) {
    SequencePolicy policy = PolicyOf(kDirectly, 4);
    policy.minimum_slot_utilization = row.share;
    policy.max_queue_delay_ns = row.delay_us * kUs;
    SequenceBench bench(policy);
    bench.Sequence("a", 1, "S", 1000);
    CHECK_EQ(bench.Next(1000), row.at_once);
    if (!row.at_once.empty()) continue;
    // The delay must be exceeded.
    CHECK_EQ(bench.Next(1100), std::string(""));
    CHECK_EQ(bench.Next(1101), std::string("a1"));
    CHECK(bench.closed_by == ClosedBy::kDelay);
    bench.Done(1101).Sequence("b", 2, "S", 1102).Sequence("c", 3, "S", 1102);
    CHECK_EQ(bench.Next(1102), std::string(""));
    bench.Sequence("d", 4, "S", 1103);
    CHECK_EQ(bench.Next(1103), std::string("- b1 c1 d1"));
  }
}

TEST(sequence_oldest_batches_one_request_of_each_sequence) {
  SequenceBench bench(PolicyOf(kByAge, 3));
  bench.Sequence("a", 1, "S,,E").Sequence("b", 2, "S,E");
  CHECK_EQ(bench.Next(), std::string("a1 b1"));
  // Until the run has ended, its sequences have no other request in a batch.
  CHECK_EQ(bench.Next(), std::string(""));
  bench.Sequence("c", 3, "S");
  CHECK_EQ(bench.Next(), std::string("c1"));
  // The batches are in the order in which the requests became ready, and no slot is empty.
  CHECK_EQ(bench.Done().Next(), std::string("a2 b2"));
  bench.Done().Done();
  CHECK_EQ(bench.Next(), std::string("a3"));
}

TEST(sequence_oldest_follows_preferred_sizes_and_the_delay) {
  SequencePolicy policy = PolicyOf(kByAge, 4);
  policy.dynamic.preferred_batch_sizes = {2};
  policy.dynamic.max_queue_delay_ns = 100 * kUs;
  SequenceBench bench(policy);
  bench.Sequence("a", 1, "S", 1000);
  CHECK_EQ(bench.Next(1000), std::string(""));
  CHECK_EQ(bench.wake_at_us, 1100u);
  bench.Sequence("b", 2, "S", 1001);
  CHECK_EQ(bench.Next(1001), std::string("a1 b1"));
  CHECK(bench.closed_by == ClosedBy::kPreferred);
}

TEST(sequence_oldest_candidates_are_not_bound_by_the_batch_size) {
  SequencePolicy policy = PolicyOf(kByAge, 2);
  policy.slots = 3;
  SequenceBench bench(policy);
  for (uint64_t i = 1; i <= 4; i++)
    bench.Sequence(std::string(1, static_cast<char>('a' + i - 1)), i, "S");
  CHECK_EQ(bench.counts().live, 3u);
  CHECK_EQ(bench.counts().backlog, 1u);
  CHECK_EQ(bench.Next(), std::string("a1 b1"));
  CHECK_EQ(bench.Next(), std::string("c1"));
}

TEST(sequence_waits_in_the_backlog_until_a_slot_is_free) {
  SequenceBench bench(PolicyOf(kDirectly, 1));
  bench.Sequence("a", 1, "S,E").Sequence("b", 2, "S,").Sequence("c", 3, "S");
  CHECK_EQ(bench.counts().backlog, 2u);
  CHECK_EQ(bench.Next(), std::string("a1"));
  CHECK_EQ(bench.Done().Next(), std::string("a2"));
  CHECK_EQ(bench.Done().Next(), std::string("b1"));
  CHECK_EQ(bench.Done().Next(), std::string("b2"));
  bench.Done(5);
  CHECK_EQ(bench.Next(5), std::string(""));
  // b is idle from the end of its run on.
  CHECK_EQ(bench.Expire(1'000'004), std::string("|"));
  CHECK_EQ(bench.wake_at_us, 1'000'005u);
  CHECK_EQ(bench.Expire(1'000'005), std::string("|"));
  CHECK_EQ(bench.Next(1'000'005), std::string("c1"));
  CHECK_EQ(bench.counts().idled, 1u);
}

TEST(sequence_is_not_idle_while_a_request_waits_or_runs_or_in_the_backlog) {
  SequenceBench bench(PolicyOf(kDirectly, 1));
  bench.Sequence("a", 1, "S").Sequence("b", 2, "S");
  CHECK_EQ(bench.Expire(9'000'000), std::string("|"));
  CHECK_EQ(bench.Next(9'000'000), std::string("a1"));
  CHECK_EQ(bench.Expire(99'000'000), std::string("|"));
  CHECK_EQ(bench.wake_at_us, 0u);
  bench.Done(99'000'000);
  CHECK_EQ(bench.Expire(99'000'001), std::string("|"));
  // A request in time keeps it alive.
  bench.Add({{"a2", {1, ""}, "E", 99'500'000}});
  CHECK_EQ(bench.Expire(199'000'000), std::string("|"));
  CHECK_EQ(bench.Next(199'000'000), std::string("a2"));
  CHECK_EQ(bench.Done(199'000'000).Next(199'000'000), std::string("b1"));
}

TEST(sequence_id_is_free_as_soon_as_its_last_request_comes) {
  SequenceBench bench(PolicyOf(kDirectly, 2));
  bench.Sequence("a", 1, "S,E").Sequence("b", 1, "S,E");
  CHECK_EQ(bench.Next(), std::string("a1 b1"));
  CHECK_EQ(bench.Done().Next(), std::string("a2 b2"));
  bench.Done();
  CHECK_EQ(bench.counts().live, 0u);
}

TEST(sequence_restarts_in_its_slot_when_a_live_one_starts) {
  SequenceBench bench(PolicyOf(kDirectly, 2));
  bench.Sequence("a", 1, "S,,S,E");
  for (const char* expected : {"a1", "a2", "a3", "a4"}) {
    CHECK_EQ(bench.Next(), std::string(expected));
    bench.Done();
  }
  CHECK_EQ(bench.counts().begun, 1u);
}

TEST(sequence_backlog_expires_with_the_shortest_timeout_of_its_requests) {
  SequenceBench bench(PolicyOf(kDirectly, 1));
  bench.Sequence("a", 1, "S");
  bench.Add(
      {{"b1", {2, ""}, "S", 0, 500}, {"b2", {2, ""}, "", 100, 200}, {"b3", {2, ""}, "E", 150}});
  // The same id begins again behind it.
  bench.Add({{"c1", {2, ""}, "S", 160}});
  CHECK_EQ(bench.Expire(299), std::string("|"));
  CHECK_EQ(bench.wake_at_us, 300u);
  CHECK_EQ(bench.Expire(300), std::string("b1 b2 b3|"));
  CHECK_EQ(bench.counts().expired, 1u);
  CHECK_EQ(bench.counts().backlog, 1u);
  // A sequence with a slot does not expire.
  CHECK_EQ(bench.Next(400), std::string("a1"));
}

TEST(sequence_ends_when_a_waiting_request_is_cancelled) {
  for (const auto strategy : {kDirectly, kByAge}) {
    SequenceBench bench(PolicyOf(strategy, 1));
    bench.Sequence("a", 1, "S,,,").Sequence("b", 2, "S,,");
    // Those before it still run, and those behind it do not.
    CHECK(bench.Cancel("a3"));
    CHECK_EQ(bench.Expire(0), std::string("|a4"));
    CHECK(!bench.Cancel("a4"));
    CHECK_EQ(bench.Next(), std::string("a1"));
    CHECK(!bench.Cancel("a1"));
    CHECK_EQ(bench.Done().Next(), std::string("a2"));
    const Status late = bench.Enqueue({"a5", {1, ""}, "", 0});
    CHECK(late.code() == Code::kInvalidArg);
    CHECK(Has(late.message(), "cancelled"));
    // In the backlog all are cancelled; here b has the slot after a.
    bench.Sequence("c", 3, "S,,");
    CHECK(bench.Cancel("c2"));
    CHECK_EQ(bench.Expire(0), std::string("|c3 c1"));
    CHECK_EQ(bench.Done().Next(), std::string("b1"));
    bench.Done();
    CHECK(bench.Cancel("b2"));
    CHECK_EQ(bench.Expire(0), std::string("|b3"));
    CHECK_EQ(bench.counts().live, 0u);
    CHECK_EQ(bench.waiting(), 0u);
  }
}

TEST(sequence_batcher_refuses_requests_in_this_order) {
  SequencePolicy policy = PolicyOf(kDirectly, 4);
  policy.controls = {{SequenceControl::Kind::kCorrelationId, 3, DataType::kInt32, {}}};
  SequenceBench bench(policy);
  const auto refused = [&](const SequenceStep& step, const std::string& part) {
    const Status status = bench.Enqueue(step);
    CHECK(status.code() == Code::kInvalidArg);
    CHECK(Has(status.message(), part));
    CHECK(Has(status.message(), "model 'm'"));
  };
  refused({"x1", {0, ""}, "", 0, 0, 0, 2}, "1 row");
  refused({"x2", {0, ""}, "S"}, "id of a sequence");
  refused({"x3", {0, "text"}, "S"}, "INT32");
  refused({"x4", {7, ""}, ""}, "sequence 7 must have START; no sequence with this id is known");
  refused({"x5", {7, ""}, "E"}, "must have START");
  bench.Sequence("a", 7, "S,E");
  refused({"x6", {7, ""}, "", 5000}, "ended with a request that had END, 5 ms ago");
  CHECK_EQ(bench.waiting(), 2u);
}

TEST(sequence_batcher_says_that_a_sequence_idled_out_or_its_model_was_reloaded) {
  SequencePolicy policy = PolicyOf(kDirectly, 4);
  policy.max_idle_ns = 20'000'000;
  policy.reloaded = true;
  SequenceBench bench(policy);
  bench.Sequence("a", 7, "S");
  CHECK_EQ(bench.Next(), std::string("a1"));
  bench.Done();
  bench.Expire(30'000);
  CHECK(Has(bench.Enqueue({"a2", {7, ""}, "", 40'000}).message(),
            "got no request for 20 ms (max_sequence_idle_microseconds) and ended, 10 ms ago"));
  CHECK(Has(bench.Enqueue({"b2", {8, ""}, ""}).message(), "the model was reloaded"));
}

TEST(sequence_batcher_forgets_old_ids) {
  SequenceBench bench(PolicyOf(kDirectly, 1));
  for (uint64_t id = 1; id <= SequenceIds::kMostPast + 1; id++) {
    bench.Sequence("a", id, "SE");
    CHECK_EQ(bench.Next(), std::string("a1"));
    bench.Done();
  }
  CHECK(Has(bench.Enqueue({"x", {1, ""}, ""}).message(), "no sequence with this id is known"));
  CHECK(Has(bench.Enqueue({"y", {2, ""}, ""}).message(), "had END"));
  CHECK_EQ(bench.counts().live, 0u);
}

TEST(sequence_ids_are_numbers_and_texts) {
  SequenceBench bench(PolicyOf(kDirectly, 4));
  bench.Add(
      {{"a", {1, ""}, "S"}, {"b", {0, "1"}, "S"}, {"c", {~0ull, ""}, "S"}, {"d", {0, "é"}, "S"}});
  CHECK_EQ(bench.Next(), std::string("a b c d"));
}

TEST(sequence_batcher_closes_when_the_requests_that_came_have_run) {
  SequenceBench bench(PolicyOf(kDirectly, 1));
  bench.Sequence("a", 1, "S").Sequence("b", 2, "S,").Sequence("c", 3, "S");
  CHECK_EQ(bench.Next(), std::string("a1"));
  bench.Done();
  CHECK_EQ(bench.counts().idle, 1u);
  bench.scheduler().Close(0);
  // No further request comes, so a sequence without one gives its slot away.
  CHECK_EQ(bench.Next(), std::string("b1"));
  CHECK_EQ(bench.Done().Next(), std::string("b2"));
  CHECK_EQ(bench.Done().Next(), std::string("c1"));
  bench.Done();
  CHECK_EQ(bench.counts().live, 0u);
}

TEST(sequence_batcher_drains_all_requests) {
  for (const auto strategy : {kDirectly, kByAge}) {
    SequenceBench bench(PolicyOf(strategy, 2));
    bench.Sequence("a", 1, "S,").Sequence("b", 2, "S,,").Sequence("c", 3, "S,");
    CHECK(bench.Cancel("b3"));
    CHECK_EQ(bench.Next(), std::string("a1 b1"));
    CHECK_EQ(bench.Drain(), std::string("c1 c2 a2 b2"));
    CHECK_EQ(bench.waiting(), 0u);
    bench.Done();
    CHECK_EQ(bench.counts().live, 0u);
    CHECK_EQ(bench.counts().backlog, 0u);
    CHECK(Has(bench.Enqueue({"c3", {3, ""}, ""}).message(), "requests failed"));
  }
}

TEST(sequence_iterative_request_keeps_its_slot_until_it_is_not_rescheduled) {
  SequencePolicy policy = PolicyOf(kByAge, 1);
  policy.iterative = true;
  SequenceBench bench(policy);
  bench.Add({{"a", {0, ""}, ""}, {"b", {0, ""}, ""}});
  CHECK_EQ(bench.Next(), std::string("a"));
  CHECK_EQ(bench.header("a").marks()[0].id.number, 1u);
  CHECK(bench.header("a").marks()[0].start);
  bench.Again("a");
  CHECK_EQ(bench.Next(), std::string(""));
  CHECK_EQ(bench.Done().Next(), std::string("a"));
  CHECK_EQ(bench.Done().Next(), std::string("b"));
  bench.Done();
  CHECK_EQ(bench.counts().live, 0u);
  // A request with an id follows the ordinary rules.
  CHECK(!bench.Enqueue({"c", {5, ""}, ""}).ok());
  bench.Add({{"d", {5, ""}, "S"}});
  CHECK_EQ(bench.Next(), std::string("d"));
  bench.Done();
  CHECK_EQ(bench.counts().live, 1u);
}

}  // namespace tritonts::test
