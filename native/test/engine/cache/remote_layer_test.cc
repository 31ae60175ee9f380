// A cache outside of the engine around a version: look-ups that are answered late, wrongly or
// never, and requests that end while they are looked up.
#include "engine/cache/remote_layer.h"

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "cache_fixture.h"

namespace tritonts::test {

namespace {

constexpr uint64_t kMs = 1'000'000;

Script Counted(const std::shared_ptr<std::atomic<int>>& runs) {
  Script script = Adding(1);
  script.execute = [execute = script.execute, runs](uint32_t instance, Run& run) {
    ++*runs;
    execute(instance, run);
  };
  return script;
}

// A version with such a cache, and its owner, which the tests play.
class RemoteVersion {
 public:
  explicit RemoteVersion(uint64_t timeout_ms = 60'000, bool coalesce = false,
                         VersionConfig config = ConfigOf(FloatIo(), 1), uint64_t queued = 1 << 20)
      : runs(std::make_shared<std::atomic<int>>(0)),
        cache(std::make_shared<RemoteCache>(RemoteCache::Options{
            .timeout_ns = timeout_ms * kMs, .most_bytes = 4096, .most_queued = queued})),
        bench_(Counted(runs)) {
    CHECK(timer_.Start());
    if (coalesce) {
      bench_.version().AddLayer(std::make_unique<CacheLayer>(
          std::make_shared<LocalCache>(0), 7, "m", CacheLayer::Options{.shares_only = true}));
    }
    bench_.version().AddLayer(
        std::make_unique<RemoteLayer>(cache, &timer_, config.io, std::string("m")));
    bench_.version().Identify("m/1");
    CHECK(bench_.version().Start(std::move(config)).ok());
    cache->Attach([this] { wakes++; });
  }
  ~RemoteVersion() {
    cache->Detach();
    CHECK(Eventually([this] { return bench_.version().drained(); }));
  }

  VersionBench& bench() { return bench_; }
  RecordingSink& sink() { return bench_.sink; }
  // Takes all look-ups, and returns their number.
  size_t Take() {
    const auto lookups = cache->TakeLookups(&batch);
    keys.clear();
    for (const RemoteCache::Lookup& lookup : lookups) keys.push_back(lookup.key);
    return keys.size();
  }
  // Answers them with what is stored.
  void Answer() {
    std::vector<std::span<const char>> values;
    for (const std::string& key : keys) {
      const auto found = stored.find(key);
      values.push_back(found == stored.end() ? std::span<const char>()
                                             : std::span<const char>(found->second));
    }
    cache->Answer(batch, values);
  }
  size_t Store() {
    const auto entries = cache->TakeEntries();
    for (const RemoteCache::Entry& entry : entries) stored[entry.key] = entry.value;
    return entries.size();
  }
  // Lets a request be looked up in vain, run and be stored.
  void Prime(float value) {
    bench_.Send({value});
    CHECK_EQ(Take(), 1u);
    Answer();
    CHECK(Eventually([this] { return Store() > 0; }));
  }

  const std::shared_ptr<std::atomic<int>> runs;
  const std::shared_ptr<RemoteCache> cache;
  std::atomic<int> wakes{0};
  uint32_t batch = 0;
  std::vector<std::string> keys;
  std::map<std::string, std::string> stored;

 private:
  Timer timer_;
  VersionBench bench_;
};

}  // namespace

TEST(remote_answers_are_found_and_stored) {
  RemoteVersion one;
  one.bench().Send({1});
  one.bench().Send({2});
  CHECK_EQ(one.wakes.load(), 1);
  CHECK_EQ(one.Take(), 2u);
  CHECK_EQ(one.keys[0].substr(0, 4), "m/1/");
  CHECK_EQ(one.keys[0].size(), 36u);
  CHECK_EQ(one.runs->load(), 0);
  one.Answer();
  CHECK(one.sink().Wait(2));
  size_t stored = 0;
  CHECK(Eventually([&] { return (stored += one.Store()) == 2; }));
  one.bench().Send({1});
  CHECK_EQ(one.Take(), 1u);
  one.Answer();
  CHECK(one.sink().Wait(3));
  CHECK_EQ(FloatsOf(one.sink().Of(2)), (Floats{2}));
  CHECK_EQ(one.sink().Of(2).timings.batch_size, 0u);
  CHECK_EQ(one.runs->load(), 2);
  const Statistics statistics = one.bench().version().statistics();
  CHECK_EQ(statistics.cache_hit.count, 1u);
  CHECK_EQ(statistics.cache_miss.count, 2u);
  CHECK_EQ(statistics.success.count, 3u);
}

TEST(requests_that_are_looked_up_may_be_cancelled) {
  RemoteVersion one;
  Request* const request = one.bench().Send({1});
  CHECK_EQ(one.Take(), 1u);
  Request* const all[] = {request};
  one.bench().version().Cancel(all);
  CHECK(one.sink().Wait(1));
  CHECK(one.sink().Of(0).status.code() == Code::kCancelled);
  one.Answer();
  CHECK_EQ(one.runs->load(), 0);
}

TEST(look_ups_that_are_never_answered_end_by_time) {
  RemoteVersion one(20);
  const uint64_t start = NowNs();
  one.bench().Send({1});
  CHECK_EQ(one.Take(), 1u);
  CHECK(one.sink().Wait(1));
  CHECK(NowNs() - start >= 20 * kMs);
  CHECK_EQ(FloatsOf(one.sink().Of(0)), (Floats{2}));
  // The answer is too late, and nothing is stored.
  one.Answer();
  CHECK_EQ(one.Store(), 0u);
  CHECK_EQ(one.cache->counts().failed, 1u);
}

TEST(failed_look_ups_and_an_owner_that_leaves_let_requests_run) {
  RemoteVersion one;
  one.bench().Send({1});
  CHECK_EQ(one.Take(), 1u);
  one.cache->Answer(one.batch, {});
  CHECK(one.sink().Wait(1));
  one.bench().Send({2});
  one.bench().Send({3});
  CHECK_EQ(one.Take(), 2u);
  one.bench().Send({4});
  one.cache->Detach();
  CHECK(one.sink().Wait(4));
  one.bench().Send({5});
  CHECK(one.sink().Wait(5));
  CHECK_EQ(one.runs->load(), 5);
}

TEST(a_paused_cache_is_not_asked_and_a_probe_asks_once) {
  RemoteVersion one;
  one.cache->SetMode(RemoteCache::Mode::kPaused);
  one.bench().Send({1});
  CHECK(one.sink().Wait(1));
  one.cache->SetMode(RemoteCache::Mode::kProbe);
  one.bench().Send({2});
  CHECK_EQ(one.Take(), 1u);
  one.bench().Send({3});
  CHECK(one.sink().Wait(2));
  CHECK_EQ(one.Take(), 0u);
  one.cache->SetMode(RemoteCache::Mode::kOpen);
  one.bench().Send({4});
  CHECK_EQ(one.Take(), 1u);
}

TEST(an_abort_answers_what_is_looked_up) {
  RemoteVersion one;
  for (int i = 0; i < 3000; i++) one.bench().Send({static_cast<float>(i)});
  // A batch is bounded, and the owner is woken for the rest.
  const int wakes = one.wakes;
  CHECK_EQ(one.Take(), 1024u);
  CHECK(Eventually([&] { return one.wakes > wakes; }));
  CHECK_EQ(one.Take(), 1024u);
  CHECK_EQ(one.Take(), 952u);
  CHECK_EQ(one.Take(), 0u);
  one.bench().version().Abort(Status::Unavailable(Reason::kClosed, "the end"));
  CHECK(one.sink().Wait(3000));
  one.Answer();
  CHECK_EQ(one.runs->load(), 0);
}

TEST(a_look_up_with_another_number_of_values_has_failed) {
  for (const size_t number : {1u, 3u}) {
    RemoteVersion one;
    one.bench().Send({1});
    one.bench().Send({2});
    CHECK_EQ(one.Take(), 2u);
    const std::string foreign = "value";
    const std::vector<std::span<const char>> values(number, foreign);
    one.cache->Answer(one.batch, values);
    CHECK(one.sink().Wait(2));
    CHECK_EQ(one.runs->load(), 2);
    CHECK_EQ(one.cache->counts().failed, 2u);
  }
}

TEST(answers_of_another_binding_are_not_stored) {
  RemoteVersion one;
  one.bench().Send({1});
  CHECK_EQ(one.Take(), 1u);
  one.bench().version().Identify("m/2");
  one.Answer();
  CHECK(one.sink().Wait(1));
  one.bench().Send({1});
  CHECK_EQ(one.Take(), 1u);
  CHECK_EQ(one.keys[0].substr(0, 4), "m/2/");
  CHECK_EQ(one.Store(), 0u);
}

TEST(equal_requests_share_a_look_up) {
  RemoteVersion one(60'000, true);
  Request* const leader = one.bench().Send({1});
  one.bench().Send({1});
  one.bench().Send({1});
  CHECK_EQ(one.Take(), 1u);
  // The next one leads, and is looked up itself.
  Request* const all[] = {leader};
  one.bench().version().Cancel(all);
  one.Answer();
  CHECK_EQ(one.Take(), 1u);
  one.Answer();
  CHECK(one.sink().Wait(3));
  CHECK_EQ(one.runs->load(), 1);
  CHECK(Eventually([&] { return one.Store() == 1; }));
  one.bench().Send({1});
  one.bench().Send({1});
  CHECK_EQ(one.Take(), 1u);
  one.Answer();
  CHECK(one.sink().Wait(5));
  const Statistics statistics = one.bench().version().statistics();
  CHECK_EQ(statistics.cache_hit.count, 3u);
  CHECK_EQ(statistics.cache_miss.count, 1u);
}

TEST(what_waits_to_be_stored_is_bounded) {
  RemoteVersion one(60'000, false, ConfigOf(FloatIo(), 1), 300);
  for (int i = 0; i < 5; i++) {
    one.bench().Send({static_cast<float>(i)});
    CHECK_EQ(one.Take(), 1u);
    one.Answer();
  }
  CHECK(one.sink().Wait(5));
  CHECK(Eventually([&] { return one.cache->counts().dropped == 4; }));
  CHECK_EQ(one.Store(), 1u);
}

// Requests come, are cancelled, found, and expire on several threads at once; each ends once.
TEST(remote_look_ups_from_all_sides) {
  RemoteVersion one(2, true);
  for (int i = 0; i < 4; i++) one.Prime(static_cast<float>(i));
  constexpr int kEach = 400;
  std::atomic<bool> ends{false};
  std::thread owner([&] {
    std::mt19937 random(3);
    while (!ends) {
      if (one.Take() > 0 && random() % 4 != 0) one.Answer();
      one.Store();
      if (random() % 8 == 0) {
        one.cache->SetMode(random() % 2 ? RemoteCache::Mode::kProbe : RemoteCache::Mode::kOpen);
      }
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> senders;
  for (int sender = 0; sender < 3; sender++) {
    senders.emplace_back([&one, sender] {
      std::mt19937 random(sender);
      for (int i = 0; i < kEach; i++) {
        RecordingSink sink;
        Requests requests(&sink);
        Request* const request = requests.Floats({static_cast<float>(random() % 6)});
        one.bench().Submit({request});
        Request* const all[] = {request};
        if (random() % 3 == 0) one.bench().version().Cancel(all);
        CHECK(sink.Wait(1));
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  ends = true;
  owner.join();
}

}  // namespace tritonts::test
