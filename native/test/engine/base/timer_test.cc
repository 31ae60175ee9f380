// The timer.
#include "engine/base/timer.h"

#include <atomic>

#include "engine_fixture.h"
#include "no_threads.h"
#include "units.h"

namespace tritonts::test {

namespace {

constexpr uint64_t kHour = 3'600'000 * kMs;

// A timer that was started.
class Started : public Timer {
 public:
  Started() { CHECK(Start()); }
};

class Client final : public TimerClient {
 public:
  void OnTimer(uint64_t now_ns) override {
    if (action) action();
    std::lock_guard lock(mutex_);
    calls_.push_back(now_ns);
  }
  std::vector<uint64_t> calls() {
    std::lock_guard lock(mutex_);
    return calls_;
  }
  std::function<void()> action;

 private:
  std::mutex mutex_;  // guards calls_
  std::vector<uint64_t> calls_;
};

}  // namespace

TEST(timer_calls_once_and_not_before_the_time) {
  Started timer;
  Client client;
  const uint64_t at = NowNs() + 2 * kMs;
  timer.Schedule(&client, at);
  CHECK(Eventually([&] { return !client.calls().empty(); }));
  CHECK(client.calls()[0] >= at);
  timer.Remove(&client);
  CHECK_EQ(client.calls().size(), 1u);
}

TEST(timer_calls_at_once_for_a_time_that_is_over) {
  Started timer;
  Client client;
  timer.Schedule(&client, 1);
  CHECK(Eventually([&] { return !client.calls().empty(); }));
}

TEST(timer_wakes_earlier_when_an_earlier_time_comes) {
  Started timer;
  Client late;
  Client early;
  timer.Schedule(&late, NowNs() + kHour);
  timer.Schedule(&early, NowNs() + kMs);
  CHECK(Eventually([&] { return !early.calls().empty(); }));
  CHECK(late.calls().empty());
  timer.Remove(&late);
}

TEST(timer_keeps_one_time_for_a_client_the_last_one) {
  Started timer;
  Client client;
  Client marker;
  timer.Schedule(&client, NowNs() + kMs);
  timer.Schedule(&client, NowNs() + kHour);
  timer.Schedule(&marker, NowNs() + 2 * kMs);
  CHECK(Eventually([&] { return !marker.calls().empty(); }));
  // It may have been called before its time was changed.
  const size_t before = client.calls().size();
  timer.Schedule(&client, NowNs() + kMs);
  CHECK(Eventually([&] { return client.calls().size() > before; }));
  timer.Remove(&client);
}

TEST(timer_survives_times_at_the_end_of_time) {
  for (const uint64_t end : {uint64_t{INT64_MAX}, UINT64_MAX}) {
    Started timer;
    Client never;
    Client soon;
    timer.Schedule(&never, end);
    timer.Schedule(&soon, NowNs() + kMs);
    CHECK(Eventually([&] { return !soon.calls().empty(); }));
    // Meanwhile the timer has waited only for the other client.
    timer.Schedule(&soon, NowNs() + kMs);
    CHECK(Eventually([&] { return soon.calls().size() == 2; }));
    CHECK(never.calls().empty());
    timer.Remove(&never);
  }
}

TEST(timer_lets_a_client_schedule_itself_again) {
  Started timer;
  Client client;
  std::atomic<int> left{3};
  client.action = [&] {
    if (--left > 0) timer.Schedule(&client, NowNs() + 1000);
  };
  timer.Schedule(&client, NowNs());
  CHECK(Eventually([&] { return client.calls().size() == 3; }));
  timer.Remove(&client);
}

TEST(timer_calls_a_client_no_more_after_removing_it) {
  Started timer;
  for (int round = 0; round < 50; round++) {
    auto client = std::make_unique<Client>();
    timer.Schedule(client.get(), NowNs() + static_cast<uint64_t>(round) * 2000);
    if (round % 3 == 0) Eventually([&] { return !client->calls().empty(); });
    timer.Remove(client.get());
    client.reset();
  }
}

TEST(timer_waits_for_a_call_under_way_when_removing_its_client) {
  Started timer;
  Client client;
  Event entered;
  Event leave;
  client.action = [&] {
    entered.Set();
    leave.Wait();
  };
  timer.Schedule(&client, NowNs());
  CHECK(entered.Wait());
  Event removed;
  std::thread remover([&] {
    timer.Remove(&client);
    removed.Set();
  });
  CHECK(!removed.Wait(std::chrono::milliseconds(20)));
  leave.Set();
  remover.join();
  CHECK_EQ(client.calls().size(), 1u);
}

TEST(timer_ends_with_times_pending) {
  Client client;
  Started timer;
  timer.Schedule(&client, NowNs() + kHour);
}

TEST(timer_that_finds_no_thread_says_so_and_can_be_started_later) {
  if (kWatched) SKIP("a sanitizer needs memory at any time");
  Timer timer;
  {
    NoThreads none;
    CHECK(!timer.Start());
  }
  CHECK(timer.Start());
  Client client;
  timer.Schedule(&client, 1);
  CHECK(Eventually([&] { return !client.calls().empty(); }));
}

TEST(timer_that_was_never_started_takes_times_and_ends) {
  Client client;
  Timer timer;
  timer.Schedule(&client, NowNs());
  timer.Remove(&client);
}

}  // namespace tritonts::test
