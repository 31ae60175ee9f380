// The cache around a version: hits, misses, requests that share a run, and everything that is not
// cached.
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "cache_fixture.h"
#include "engine/request/region_use.h"

namespace tritonts::test {

namespace {

constexpr uint64_t kSize = 1 << 20;

// A script that adds 1, and counts its runs.
Script CountedRuns(const std::shared_ptr<std::atomic<int>>& runs) {
  Script script = Adding(1);
  script.execute = [execute = script.execute, runs](uint32_t instance, Run& run) {
    ++*runs;
    execute(instance, run);
  };
  return script;
}

// A script whose run fails with this status.
Script FailingRuns(const std::shared_ptr<std::atomic<int>>& runs, const Status& status) {
  Script script;
  script.execute = [runs, status](uint32_t, Run& run) {
    ++*runs;
    run.RespondAll(status);
  };
  return script;
}

// A sink that takes memory which is not its own, and keeps the blocks of outputs.
class BorrowingSink final : public ResponseSink {
 public:
  explicit BorrowingSink(bool borrows) : borrows_(borrows) {}
  void Deliver(std::span<const Response> responses) override {
    const std::lock_guard lock(mutex_);
    for (const Response& response : responses) {
      const OutputTensor& output = response.outputs[0];
      kept.push_back({output.kind, output.data, output.size, BlockRef::Share(output.block)});
      response.request->set_state(Request::State::kIdle);
    }
    changed_.notify_all();
  }
  bool Takes(const Request&, uint32_t, MemoryKind kind, int) const override {
    return borrows_ ? IsHostMemory(kind) : IsPrivateHostMemory(kind);
  }
  bool Wait(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return kept.size() >= count; });
  }

  struct Kept {
    MemoryKind kind;
    const void* data;
    size_t size;
    BlockRef block;
  };
  std::vector<Kept> kept;

 private:
  const bool borrows_;
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace

TEST(cached_requests_are_answered_without_a_run) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  CachedVersion cached(CountedRuns(runs));
  cached.bench().Send({1, 2});
  CHECK(cached.sink().Wait(1));
  cached.bench().Send({1, 2});
  cached.bench().Send({2, 1});
  CHECK(cached.sink().Wait(3));
  CHECK_EQ(FloatsOf(cached.sink().Of(0)), (Floats{2, 3}));
  CHECK_EQ(FloatsOf(cached.sink().Of(1)), (Floats{2, 3}));
  CHECK_EQ(FloatsOf(cached.sink().Of(2)), (Floats{3, 2}));
  CHECK_EQ(cached.sink().Of(1).outputs[0].shape, (std::vector<int64_t>{2, 1}));
  // A batch of no rows says that it was cached.
  CHECK(cached.sink().Of(1).ran);
  CHECK_EQ(cached.sink().Of(1).timings.batch_size, 0u);
  CHECK_EQ(cached.sink().Of(0).timings.batch_size, 2u);
  CHECK_EQ(runs->load(), 2);
  const Statistics statistics = cached.statistics();
  CHECK_EQ(statistics.cache_hit.count, 1u);
  CHECK_EQ(statistics.cache_miss.count, 2u);
  CHECK(statistics.cache_miss.ns > 0);
  CHECK_EQ(statistics.success.count, 3u);
  CHECK_EQ(statistics.queue.count, 3u);
  // A hit has not run.
  CHECK_EQ(statistics.compute_infer.count, 2u);
  CHECK_EQ(statistics.inference_count, 4u);
  CHECK_EQ(statistics.execution_count, 2u);
}

TEST(cached_large_outputs_are_lent_to_sinks_that_copy_what_they_retain) {
  constexpr size_t kRows = 20'000;
  const auto runs = std::make_shared<std::atomic<int>>(0);
  for (const bool borrows : {true, false}) {
    BorrowingSink sink(borrows);
    std::vector<BorrowingSink::Kept> kept;
    {
      CachedVersion cached(CountedRuns(runs), kSize, true, 0, ConfigOf(FloatIo(kRows)));
      Requests requests(&sink);
      for (size_t i = 0; i < 3; i++) {
        Request* const request = requests.Floats(Floats(kRows, 1));
        cached.bench().Submit({request});
        CHECK(sink.Wait(i + 1));
      }
      CHECK(Eventually([&] { return cached.bench().version().drained(); }));
      CHECK_EQ(cached.statistics().cache_hit.count, 2u);
      CHECK_EQ(cached.statistics().cache_miss.count, 1u);
      kept = std::move(sink.kept);
    }
    for (size_t i = 1; i < 3; i++) {
      CHECK(kept[i].kind == (borrows ? MemoryKind::kShared : MemoryKind::kHost));
      CHECK(kept[i].block);
      CHECK_EQ(kept[i].size, kRows * sizeof(float));
      // The bytes outlive the cache.
      const float* const values = static_cast<const float*>(kept[i].data);
      CHECK_EQ(values[0], 2);
      CHECK_EQ(values[kRows - 1], 2);
    }
    // Two hits have the same bytes only if nobody may change them.
    CHECK_EQ(kept[1].data == kept[2].data, borrows);
  }
}

TEST(cached_groups_are_answered_in_parts) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  CachedVersion cached(CountedRuns(runs));
  cached.bench().Send({5});
  CHECK(cached.sink().Wait(1));
  for (int round = 0; round < 3; round++) {
    RecordingSink sink;
    // Two that are cached, two alike, and one more.
    Group group(&sink, {5, 6, 6, 5, 7});
    cached.bench().Submit(group.all());
    CHECK(sink.Wait(5));
    CHECK(Eventually([&] { return cached.bench().version().drained(); }));
    CHECK(group.header.sink == &sink);
    std::vector<float> values;
    for (const SeenResponse& seen : sink.responses()) values.push_back(FloatsOf(seen).front());
    std::sort(values.begin(), values.end());
    CHECK_EQ(values, (Floats{6, 6, 7, 7, 8}));
  }
  CHECK_EQ(cached.statistics().inference_count, 3u);
  // In the first round three: the two that were cached, and the one that followed an equal one.
  CHECK_EQ(cached.statistics().cache_hit.count, 3u + 5u + 5u);
  CHECK_EQ(cached.statistics().cache_miss.count, 3u);
}

TEST(cached_requests_in_flight_share_a_run) {
  const auto runs = std::make_shared<Runs>();
  runs->Shut();
  CachedVersion cached(ScriptOf(runs));
  cached.bench().Send({1});
  CHECK(runs->Started(1));
  for (int i = 0; i < 3; i++) cached.bench().Send({1});
  runs->Open();
  CHECK(cached.sink().Wait(4));
  for (uint32_t slot = 0; slot < 4; slot++) {
    CHECK_EQ(FloatsOf(cached.sink().Of(slot)), (Floats{1}));
  }
  CHECK_EQ(runs->runs().size(), 1u);
  CHECK_EQ(cached.statistics().success.count, 4u);
  CHECK_EQ(cached.statistics().cache_hit.count, 3u);
  CHECK_EQ(cached.statistics().cache_miss.count, 1u);
}

TEST(cached_requests_in_flight_run_apart_if_they_are_not_to_share) {
  const auto runs = std::make_shared<Runs>();
  runs->Shut();
  CachedVersion cached(ScriptOf(runs), kSize, false);
  cached.bench().Send({1});
  CHECK(runs->Started(1));
  cached.bench().Send({1});
  runs->Open();
  CHECK(cached.sink().Wait(2));
  CHECK_EQ(runs->runs().size(), 2u);
  // The second insertion finds the first one's entry, and does not count as a miss, as in Triton.
  CHECK_EQ(cached.statistics().cache_miss.count, 1u);
  CHECK_EQ(cached.statistics().cache_hit.count, 0u);
}

TEST(cached_errors_are_not_stored) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  CachedVersion cached(FailingRuns(runs, Status::Internal("no")));
  for (uint32_t i = 0; i < 3; i++) {
    cached.bench().Send({1});
    CHECK(cached.sink().Wait(i + 1));
    CHECK_EQ(cached.sink().Of(i).status.message(), "no");
  }
  CHECK_EQ(runs->load(), 3);
  CHECK_EQ(cached.cache->counts().entries, 0u);
  CHECK_EQ(cached.statistics().cache_miss.count, 0u);
}

TEST(cached_followers_fail_with_the_run_that_they_share) {
  const auto gate = std::make_shared<Event>();
  const auto entered = std::make_shared<Event>();
  const auto runs = std::make_shared<std::atomic<int>>(0);
  Script script;
  script.execute = [=](uint32_t, Run& run) {
    ++*runs;
    entered->Set();
    gate->Wait();
    run.RespondAll(Status::InvalidArg("wrong"));
  };
  CachedVersion cached(std::move(script));
  cached.bench().Send({1});
  CHECK(entered->Wait());
  cached.bench().Send({1});
  gate->Set();
  CHECK(cached.sink().Wait(2));
  CHECK_EQ(cached.sink().Of(0).status.message(), "wrong");
  CHECK_EQ(cached.sink().Of(1).status.message(), "wrong");
  CHECK_EQ(runs->load(), 1);
  CHECK_EQ(cached.statistics().fail.count, 2u);
  CHECK_EQ(cached.statistics().backend_failed, 2u);
}

TEST(cached_followers_outlive_a_cancelled_leader) {
  const auto runs = std::make_shared<Runs>();
  runs->Shut();
  CachedVersion cached(ScriptOf(runs));
  cached.bench().Send({0});
  CHECK(runs->Started(1));
  // It waits in the queue, and two follow it.
  Request* const leader = cached.bench().Send({1});
  cached.bench().Send({1});
  Request* const second = cached.bench().Send({1});
  cached.bench().Cancel(leader);
  CHECK(cached.sink().Of(1).status.code() == Code::kCancelled);
  CHECK_EQ(cached.sink().responses().size(), 1u);
  // The last one follows the new leader, and may be cancelled, too.
  cached.bench().Cancel(second);
  CHECK(cached.sink().Of(3).status.code() == Code::kCancelled);
  runs->Open();
  CHECK(cached.sink().Wait(4));
  CHECK_EQ(FloatsOf(cached.sink().Of(2)), (Floats{1}));
  CHECK_EQ(runs->runs().size(), 2u);
  CHECK_EQ(cached.statistics().cancelled, 2u);
}

TEST(cached_followers_are_cancelled_with_their_leader) {
  const auto runs = std::make_shared<Runs>();
  runs->Shut();
  CachedVersion cached(ScriptOf(runs));
  cached.bench().Send({0});
  CHECK(runs->Started(1));
  std::vector<Request*> all;
  for (int i = 0; i < 100; i++) all.push_back(cached.bench().Send({1}));
  cached.bench().version().Cancel(all);
  CHECK(cached.sink().Wait(100));
  runs->Open();
  CHECK(cached.sink().Wait(101));
  CHECK_EQ(runs->runs().size(), 1u);
  CHECK_EQ(cached.cache->counts().entries, 1u);
}

TEST(cached_leaders_that_are_cancelled_one_by_one_hand_over) {
  const auto runs = std::make_shared<Runs>();
  runs->Shut();
  CachedVersion cached(ScriptOf(runs));
  cached.bench().Send({0});
  CHECK(runs->Started(1));
  std::vector<Request*> all;
  for (int i = 0; i < 100; i++) all.push_back(cached.bench().Send({1}));
  // The leader is always the oldest.
  for (size_t i = 0; i + 1 < all.size(); i++) cached.bench().Cancel(all[i]);
  runs->Open();
  CHECK(cached.sink().Wait(101));
  CHECK_EQ(FloatsOf(cached.sink().Of(100)), (Floats{1}));
  CHECK_EQ(runs->runs().size(), 2u);
}

TEST(cached_followers_of_a_refused_leader_go_their_own_way) {
  const auto runs = std::make_shared<Runs>();
  runs->Shut();
  VersionConfig config = ConfigOf(FloatIo(), 1);
  QueuePolicy policy;
  policy.max_queue_size = 1;
  config.queue = QueuePolicies{0, 0, policy, {}};
  CachedVersion cached(ScriptOf(runs), kSize, true, 0, std::move(config));
  cached.bench().Send({0});
  CHECK(runs->Started(1));
  cached.bench().Send({1});
  // The queue is full: of these two equal requests, the leader and then the follower are refused.
  Group group(&cached.sink(), {2, 2});
  cached.bench().Submit(group.all());
  CHECK_EQ(cached.sink().responses().size(), 2u);
  for (const SeenResponse& seen : cached.sink().responses()) {
    CHECK(seen.status.code() == Code::kUnavailable);
  }
  runs->Open();
  CHECK(cached.sink().Wait(4));
}

TEST(cached_followers_end_when_the_version_is_aborted) {
  const auto runs = std::make_shared<Runs>();
  runs->Shut();
  CachedVersion cached(ScriptOf(runs));
  cached.bench().Send({1});
  CHECK(runs->Started(1));
  cached.bench().Send({1});
  cached.bench().version().Close();
  cached.bench().version().Abort(Status::Unavailable(Reason::kClosed, "the limit is over"));
  CHECK(cached.sink().Wait(1));
  CHECK_EQ(cached.sink().Of(1).status.message(), "the limit is over");
  runs->Open();
  CHECK(cached.sink().Wait(2));
}

TEST(cached_responses_keep_the_order_of_requests) {
  const auto runs = std::make_shared<Runs>();
  VersionConfig config = ConfigOf(FloatIo(), 2);
  config.preserve_ordering = true;
  CachedVersion cached(ScriptOf(runs), kSize, true, 0, std::move(config));
  cached.bench().Send({1});
  CHECK(cached.sink().Wait(1));
  const auto is_alone = [&] { return cached.bench().version().drained(); };
  CHECK(Eventually(is_alone));
  // Alone, it is answered at once.
  cached.bench().Send({1});
  CHECK_EQ(cached.sink().responses().size(), 2u);
  runs->Shut();
  cached.bench().Send({2});
  CHECK(runs->Started(2));
  // Behind a run, it runs, and so does an equal one.
  cached.bench().Send({1});
  cached.bench().Send({2});
  CHECK_EQ(cached.sink().responses().size(), 2u);
  runs->Open();
  CHECK(cached.sink().Wait(5));
  std::vector<uint32_t> order;
  for (const SeenResponse& seen : cached.sink().responses()) order.push_back(seen.slot);
  CHECK_EQ(order, (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  CHECK_EQ(runs->runs().size(), 4u);
  CHECK_EQ(cached.statistics().cache_hit.count, 1u);
  CHECK(Eventually(is_alone));
  cached.bench().Send({2});
  CHECK_EQ(cached.sink().responses().size(), 6u);
}

TEST(cached_versions_pass_what_has_no_key) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  CachedVersion cached(CountedRuns(runs));
  for (uint32_t i = 0; i < 2; i++) {
    Request* const request = cached.bench().requests.Floats({1});
    request->header->regions = std::make_shared<RegionUse>(1);
    cached.bench().Submit({request});
    CHECK(cached.sink().Wait(i + 1));
    CHECK_EQ(FloatsOf(cached.sink().Of(i)), (Floats{2}));
  }
  CHECK_EQ(runs->load(), 2);
  CHECK_EQ(cached.statistics().cache_miss.count, 0u);
}

TEST(cached_answers_that_do_not_fit_are_misses) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  CachedVersion cached(CountedRuns(runs), 100);
  for (uint32_t i = 0; i < 2; i++) {
    cached.bench().Send({1});
    CHECK(cached.sink().Wait(i + 1));
  }
  CHECK_EQ(runs->load(), 2);
  CHECK_EQ(cached.statistics().cache_miss.count, 2u);
}

TEST(cached_answers_are_gone_with_their_version) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<LocalCache> cache;
  {
    CachedVersion cached(CountedRuns(runs));
    cache = cached.cache;
    cached.bench().Send({1});
    CHECK(cached.sink().Wait(1));
    CHECK_EQ(cache->counts().entries, 1u);
  }
  CHECK_EQ(cache->counts().entries, 0u);
  CHECK_EQ(cache->counts().used, 0u);
}

TEST(cached_ensembles_forget_when_they_are_bound_again) {
  const auto cache = std::make_shared<LocalCache>(kSize);
  EnsembleBench bench(ChainOf(1), {{Adding(1), ConfigOf(FloatIo())}});
  bench.ensemble().AddLayer(std::make_unique<CacheLayer>(cache, 1, "e", CacheLayer::Options()));
  bench.Send({1});
  CHECK(bench.sink.Wait(1));
  bench.Send({1});
  CHECK(bench.sink.Wait(2));
  CHECK_EQ(bench.ensemble().statistics().cache_hit.count, 1u);
  CHECK_EQ(bench.ensemble().statistics().inference_count, 1u);
  bench.Bind();
  bench.Send({1});
  CHECK(bench.sink.Wait(3));
  CHECK_EQ(bench.ensemble().statistics().cache_hit.count, 1u);
  CHECK_EQ(bench.ensemble().statistics().inference_count, 2u);
  CHECK_EQ(FloatsOf(bench.sink.Of(2)), (Floats{2}));
  CHECK(Eventually([&] { return bench.ensemble().drained(); }));
}

TEST(cached_steps_of_an_ensemble_are_answered_within_it) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  const auto cache = std::make_shared<LocalCache>(kSize);
  EnsembleBench bench(ChainOf(2),
                      {{CountedRuns(runs), ConfigOf(FloatIo())}, {Adding(1), ConfigOf(FloatIo())}});
  bench.step(0).AddLayer(std::make_unique<CacheLayer>(cache, 1, "s", CacheLayer::Options()));
  for (uint32_t i = 0; i < 3; i++) {
    bench.Send({4});
    CHECK(bench.sink.Wait(i + 1));
    CHECK_EQ(FloatsOf(bench.sink.Of(i)), (Floats{6}));
  }
  CHECK_EQ(runs->load(), 1);
  CHECK_EQ(bench.step(0).statistics().cache_hit.count, 2u);
}

TEST(cached_versions_serve_eight_threads_that_cancel) {
  const auto runs = std::make_shared<std::atomic<int>>(0);
  // Few entries fit, so that all ways are taken.
  CachedVersion cached(CountedRuns(runs), 4096, true, 0, ConfigOf(FloatIo(), 2, Dynamic(8)));
  std::atomic<int> wrong{0};
  std::atomic<int> cancelled{0};
  constexpr int kRounds = 300;
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int round = 0; round < kRounds; round++) {
        RecordingSink sink;
        Requests requests(&sink);
        std::vector<Request*> all;
        std::vector<float> values;
        for (int i = 0; i < 5; i++) {
          values.push_back(static_cast<float>(random() % 12));
          all.push_back(requests.Floats({values.back()}));
        }
        cached.bench().Submit(all);
        if (random() % 2) cached.bench().version().Cancel(std::span(all).subspan(random() % 5));
        if (!sink.Wait(5)) wrong++;
        for (const SeenResponse& seen : sink.responses()) {
          if (seen.status.code() == Code::kCancelled) {
            cancelled++;
          } else if (FloatsOf(seen) != Floats{values[seen.slot] + 1}) {
            wrong++;
          }
        }
        // The requests are the sink's when all layers are through with them.
        for (const Request* request : all) {
          if (!Eventually([&] { return request->state() == Request::State::kIdle; })) wrong++;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_EQ(wrong, 0);
  CHECK(Eventually([&] { return cached.bench().version().drained(); }));
  const Statistics statistics = cached.statistics();
  CHECK_EQ(statistics.success.count + statistics.fail.count, uint64_t{kThreads * kRounds * 5});
  CHECK_EQ(statistics.cancelled, static_cast<uint64_t>(cancelled.load()));
  CHECK(statistics.cache_hit.count > 0);
}

}  // namespace tritonts::test
