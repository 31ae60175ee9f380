// Caches that are plug-ins of Triton, with their threads: what is stored and found, and what
// happens to look-ups when a plug-in breaks rules, is slow, or is left alone.
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "engine_fixture.h"
#include "plugins/cache_owner.h"
#include "units.h"

namespace tritonts::test {

namespace {

using plugins::CacheOwner;

// What a layer of a version is to the cache.
class Askers final : public RemoteCache::Asker {
 public:
  explicit Askers(std::shared_ptr<RemoteCache> cache)
      : cache_(std::move(cache)), number_(cache_->Join(this)) {}
  ~Askers() { cache_->Leave(number_); }

  bool Ask(const std::vector<std::string>& keys) {
    std::vector<RemoteCache::Lookup> lookups;
    for (const std::string& key : keys) lookups.push_back({number_, nullptr, 0, key});
    return cache_->Ask(std::move(lookups));
  }
  size_t answered() {
    std::lock_guard lock(mutex_);
    return answered_;
  }
  size_t failed() {
    std::lock_guard lock(mutex_);
    return failed_;
  }
  std::map<std::string, std::string> found() {
    std::lock_guard lock(mutex_);
    return found_;
  }

 private:
  void Found(std::span<const RemoteCache::Lookup> lookups,
             std::span<const std::span<const char>> values) noexcept override {
    std::lock_guard lock(mutex_);
    answered_ += lookups.size();
    if (values.empty()) failed_ += lookups.size();
    for (size_t i = 0; i < values.size(); i++) {
      if (values[i].data()) found_[lookups[i].key].assign(values[i].begin(), values[i].end());
    }
  }

  const std::shared_ptr<RemoteCache> cache_;
  const uint32_t number_;
  std::mutex mutex_;  // guards all below
  size_t answered_ = 0;
  size_t failed_ = 0;
  std::map<std::string, std::string> found_;
};

// A plug-in of the tests that serves a cache.
class Served {
 public:
  explicit Served(const std::string& name, const std::string& config = "{}",
                  uint64_t timeout_ms = 60'000)
      : cache(std::make_shared<RemoteCache>(RemoteCache::Options{
            .timeout_ns = timeout_ms * kMs, .most_bytes = 1 << 16, .most_queued = 1 << 24})),
        owner(CacheOwner::Create(
            {std::string(TRITONTS_FAKES) + "/caches/" + name + "/libtritoncache_" + name + ".so",
             TRITONTS_OWN_LIBRARY, config},
            [this] { changes++; })) {
    CHECK(Eventually([this] { return Look().opened; }));
    if (state.fault.ok()) CHECK(owner->Attach(cache));
    asker = std::make_unique<Askers>(cache);
  }
  ~Served() { End(); }

  const CacheOwner::State& Look() {
    state = owner->TakeState();
    for (std::string& note : state.notes) notes.push_back(std::move(note));
    return state;
  }
  void End() {
    owner->Close();
    CHECK(Eventually([this] { return Look().ended; }));
    owner->Silence();
  }

  std::atomic<int> changes{0};
  const std::shared_ptr<RemoteCache> cache;
  const std::shared_ptr<CacheOwner> owner;
  CacheOwner::State state;
  std::vector<std::string> notes;
  std::unique_ptr<Askers> asker;
};

}  // namespace

TEST(plugin_caches_find_what_they_store) {
  Served one("map");
  CHECK(one.asker->Ask({"a", "b"}));
  CHECK(Eventually([&] { return one.asker->answered() == 2; }));
  CHECK_EQ(one.asker->found().size(), 0u);
  one.cache->Offer({"a", "first"});
  // The same key again is no error.
  one.cache->Offer({"a", "second"});
  one.cache->Offer({"b", std::string(1 << 15, 'b')});
  CHECK(Eventually([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    one.asker->Ask({"a", "b", "c"});
    return one.asker->found().size() == 2;
  }));
  CHECK_EQ(one.asker->found()["a"], "first");
  CHECK_EQ(one.asker->found()["b"].size(), size_t{1} << 15);
  CHECK_EQ(one.asker->failed(), 0u);
  CHECK(one.Look().up);
  CHECK_EQ(one.notes.size(), 0u);
}

TEST(plugin_caches_are_asked_by_many_threads) {
  Served one("map");
  std::atomic<size_t> asked{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; thread++) {
    threads.push_back(std::thread([&, thread] {
      for (int i = 0; i < 50; i++) {
        const std::string key = std::to_string(i % 10);
        if (one.asker->Ask({key, key + "x", std::to_string(thread)})) asked += 3;
        one.cache->Offer({key, "value " + key});
      }
    }));
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(Eventually([&] { return one.asker->answered() == asked.load(); }));
  CHECK(Eventually([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    one.asker->Ask({"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"});
    return one.asker->found().size() == 10;
  }));
  for (const auto& [key, value] : one.asker->found()) CHECK_EQ(value, "value " + key);
}

TEST(plugin_caches_that_refuse_are_told_of_once) {
  Served one("faulty", R"({"fault":"refuse"})");
  for (size_t i = 1; i <= 5; i++) {
    CHECK(one.asker->Ask({"a"}));
    CHECK(Eventually([&] { return one.asker->answered() == i; }));
  }
  CHECK(!one.Look().up);
  CHECK_EQ(one.notes,
           (Names{": the store is gone; requests run without it until it answers again"}));
  CHECK(one.changes.load() > 0);
  // A failure at once is no reason to ask nothing.
  CHECK(one.cache->open());
}

TEST(plugin_caches_that_are_slow_are_left_in_peace) {
  Served one("faulty", R"({"fault":"slow","ms":"300"})", 20);
  CHECK(one.asker->Ask({"a", "b", "c"}));
  CHECK(Eventually([&] { return !one.cache->open(); }));
  CHECK(Eventually([&] { return one.asker->answered() == 3; }));
  CHECK_EQ(one.asker->failed(), 3u);
  CHECK(!one.Look().up);
  CHECK_EQ(one.notes, (Names{": a look-up took longer than 20 ms; requests run without it until it "
                             "answers again"}));
  // It is tried again.
  CHECK(Eventually([&] { return one.cache->open(); }));
}

TEST(plugin_caches_that_answer_in_time_are_asked_for_many_keys) {
  // Together they take longer than one may.
  Served one("faulty", R"({"fault":"steady","ms":"40"})", 1000);
  std::vector<std::string> keys;
  for (int i = 0; i < 100; i++) keys.push_back(std::to_string(i));
  CHECK(one.asker->Ask(keys));
  CHECK(Eventually([&] { return one.asker->answered() == 100; }));
  CHECK_EQ(one.asker->failed(), 0u);
  CHECK_EQ(one.asker->found().size(), 100u);
  CHECK(one.Look().up);
  CHECK_EQ(one.notes.size(), 0u);
}

TEST(plugin_caches_may_throw) {
  Served one("faulty", R"({"fault":"throw"})");
  CHECK(one.asker->Ask({"a"}));
  CHECK(Eventually([&] { return one.asker->answered() == 1; }));
  one.Look();
  CHECK_EQ(one.notes, (Names{": the plug-in threw no look-up; requests run without it until it "
                             "answers again"}));
  Served start("faulty", R"({"fault":"start_throw"})");
  CHECK_EQ(start.state.fault.message(), "the plug-in threw no start");
  CHECK(start.state.fault.code() == Code::kInternal);
  Served insert("faulty", R"({"fault":"insert_throw"})");
  insert.cache->Offer({"a", "value"});
  CHECK(Eventually([&] {
    insert.Look();
    return insert.notes.size() == 1;
  }));
}

TEST(plugin_caches_may_be_abandoned_in_a_call) {
  Served one("faulty", R"({"fault":"slow","ms":"500"})");
  CHECK(one.asker->Ask({"a"}));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  one.owner->Close();
  one.owner->Abandon();
  // Nobody waits for the call.
  CHECK_EQ(one.asker->answered(), 1u);
  CHECK_EQ(one.asker->failed(), 1u);
  CHECK(!one.cache->open());
}

TEST(plugin_caches_may_fail_to_begin) {
  for (const auto& [config, code] : std::vector<std::pair<std::string, Code>>{
           {R"({"fail":"no such store"})", Code::kInvalidArg}}) {
    Served one("map", config);
    CHECK(one.state.fault.code() == code);
    CHECK_EQ(one.state.fault.message(), "no such store");
    CHECK(!one.owner->Attach(one.cache));
  }
  Served one("faulty", R"({"fault":"null"})");
  CHECK(one.state.fault.code() == Code::kInternal);
  Served lacking("missing");
  CHECK(lacking.state.fault.code() == Code::kUnavailable);
}

TEST(plugin_caches_store_what_is_left) {
  std::string stored;
  Served one("map");
  for (int i = 0; i < 100; i++) one.cache->Offer({std::to_string(i), "value"});
  one.End();
  CHECK_EQ(one.notes.size(), 0u);
  CHECK(!one.cache->HasEntries());
}

}  // namespace tritonts::test
