// The destroyer: calls that may take long.
#include "engine/server/destroyer.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/exit.h"
#include "engine_fixture.h"
#include "no_threads.h"

namespace tritonts::test {

namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

}  // namespace

TEST(destroyer_makes_every_call_and_tells_of_each) {
  std::atomic<int> changed{0};
  std::atomic<int> made{0};
  Destroyer destroyer([&] { changed++; });
  std::vector<std::shared_ptr<Destroyer::Call>> calls;
  for (int i = 0; i < 50; i++) calls.push_back(destroyer.Add([&] { made++; }));
  CHECK(Eventually([&] { return changed == 50; }));
  CHECK_EQ(made.load(), 50);
  for (const auto& call : calls) {
    CHECK(destroyer.Returned(*call));
    CHECK(!destroyer.Abandon(call));
  }
}

TEST(destroyer_makes_short_calls_on_few_threads) {
  std::mutex mutex;
  std::vector<std::thread::id> threads;
  {
    Destroyer destroyer([] {}, hours(1));
    for (int i = 0; i < 50; i++) {
      destroyer.Add([&] {
        std::lock_guard lock(mutex);
        threads.push_back(std::this_thread::get_id());
      });
    }
    destroyer.Join();
  }
  CHECK_EQ(threads.size(), 50u);
  // One thread makes the calls, and another waits until a call is overdue, or until Join. A further
  // thread starts if both are busy.
  std::sort(threads.begin(), threads.end());
  CHECK(std::unique(threads.begin(), threads.end()) - threads.begin() <= 5);
}

TEST(destroyer_makes_other_calls_although_some_hang) {
  auto gate = std::make_shared<Event>();
  std::atomic<int> made{0};
  Destroyer destroyer([] {}, milliseconds(1));
  for (int i = 0; i < 4; i++) destroyer.Add([gate] { gate->Wait(); });
  destroyer.Add([&] { made++; });
  CHECK(Eventually([&] { return made == 1; }));
  gate->Set();
}

TEST(destroyer_does_not_wait_for_an_abandoned_call) {
  auto gate = std::make_shared<Event>();
  auto returned = std::make_shared<Event>();
  auto held = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = held;
  std::atomic<int> changed{0};
  const uint32_t before = RunsUnderWay();
  {
    Destroyer destroyer([&] { changed++; }, hours(1));
    Event entered;
    auto call = destroyer.Add([=, &entered, held = std::move(held)] {
      entered.Set();
      gate->Wait();
      returned->Set();
    });
    CHECK(entered.Wait());
    // This call waits behind the slow one, which is now overdue, so another thread runs it.
    auto next = destroyer.Add([] {});
    CHECK_EQ(RunsUnderWay(), before + 1);
    CHECK(destroyer.Abandon(call));
    CHECK(destroyer.Abandon(call));
    CHECK_EQ(RunsUnderWay(), before);
    CHECK(Eventually([&] { return destroyer.Returned(*next); }));
    CHECK(!destroyer.Returned(*call));
    destroyer.Join();
  }
  CHECK_EQ(changed.load(), 1);
  CHECK(!watched.expired());
  gate->Set();
  CHECK(returned->Wait());
  // The call's captures are freed with it.
  CHECK(Eventually([&] { return watched.expired(); }));
}

TEST(destroyer_never_begins_what_was_abandoned_before) {
  auto gate = std::make_shared<Event>();
  std::atomic<int> made{0};
  Destroyer destroyer([] {}, hours(1));
  destroyer.Add([gate] { gate->Wait(); });
  auto call = destroyer.Add([&] { made++; });
  CHECK(destroyer.Abandon(call));
  gate->Set();
  destroyer.Join();
  CHECK_EQ(made.load(), 0);
}

TEST(destroyer_makes_what_is_queued_before_it_ends) {
  std::atomic<int> made{0};
  Destroyer destroyer([] {}, hours(1));
  for (int i = 0; i < 10; i++) destroyer.Add([&] { made++; });
  destroyer.Join();
  CHECK_EQ(made.load(), 10);
}

TEST(destroyer_without_a_thread_makes_calls_where_they_are_ordered) {
  if (kWatched) SKIP("a sanitizer needs memory at any time");
  std::atomic<int> changed{0};
  std::thread::id thread;
  Destroyer destroyer([&] { changed++; });
  std::shared_ptr<Destroyer::Call> call;
  {
    NoThreads none;
    call = destroyer.Add([&] { thread = std::this_thread::get_id(); });
  }
  CHECK(thread == std::this_thread::get_id());
  CHECK(destroyer.Returned(*call));
  CHECK_EQ(changed.load(), 1);
  call = destroyer.Add([&] { thread = std::this_thread::get_id(); });
  destroyer.Join();
  CHECK(thread != std::this_thread::get_id());
}

}  // namespace tritonts::test
