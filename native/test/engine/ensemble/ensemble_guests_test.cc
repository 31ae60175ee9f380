// Guests: steps that run on the thread of the instance whose responses made them ready.
#include <algorithm>
#include <atomic>
#include <thread>

#include "ensemble_fixture.h"
#include "units.h"

namespace tritonts::test {

namespace {

// A model that records the threads of its runs.
Script Noting(std::vector<std::thread::id>* threads) {
  Script script;
  script.execute = [threads](uint32_t, Run& run) {
    threads->push_back(std::this_thread::get_id());
    AddTo(run, 1);
  };
  return script;
}

VersionConfig WithGuests(uint64_t budget_ns) {
  VersionConfig config = ConfigOf(FloatIo());
  config.guest_budget_ns = budget_ns;
  return config;
}

}  // namespace

TEST(ensemble_runs_short_steps_on_the_thread_that_answered_the_step_before) {
  for (const uint64_t budget_ns : {3600 * kSecond, uint64_t{0}}) {
    std::vector<std::thread::id> threads[3];
    EnsembleBench bench(ChainOf(3), {{Noting(&threads[0]), WithGuests(budget_ns)},
                                     {Noting(&threads[1]), WithGuests(budget_ns)},
                                     {Noting(&threads[2]), WithGuests(budget_ns)}});
    for (size_t i = 1; i <= 4; i++) {
      bench.Send({1});
      CHECK(bench.sink.Wait(i));
      CHECK_EQ(FloatsOf(bench.sink.Of(i - 1)), (Floats{4}));
      // A guest's host is free once the guest has answered and returned.
      for (size_t step = 0; step < 3; step++) {
        CHECK(Eventually([&] { return bench.step(step).drained(); }));
      }
    }
    // A step's first batch is measured on its own thread; later ones are guests.
    CHECK(threads[1][0] != threads[0][0]);
    for (size_t step = 1; step < 3; step++) {
      CHECK_EQ(threads[step][3] == threads[0][3], budget_ns > 0);
      CHECK_EQ(bench.step(step).statistics().success.count, 4u);
      for (const BatchRecord& record : bench.step(step).batches().records) {
        CHECK(!record.ran_inline);
      }
    }
  }
}

TEST(ensemble_runs_no_guest_where_its_instance_is_busy) {
  std::vector<std::thread::id> first;
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::atomic<bool> holds{false};
  Event entered;
  Event go;
  Script second;
  second.execute = [&](uint32_t, Run& run) {
    most = std::max(most.load(), ++inside);
    if (holds.exchange(false)) {
      entered.Set();
      CHECK(go.Wait());
    }
    inside--;
    AddTo(run, 1);
  };
  EnsembleBench bench(ChainOf(2), {{Noting(&first), WithGuests(3600 * kSecond)},
                                   {std::move(second), WithGuests(3600 * kSecond)}});
  for (size_t i = 1; i <= 3; i++) {
    bench.Send({1});
    CHECK(bench.sink.Wait(i));
  }
  // The step also gets a request from outside the ensemble, which keeps its thread busy.
  holds = true;
  Request* const beside = bench.requests.Floats({1});
  beside->header->executor = &bench.step(1);
  beside->header->arrival_ns = NowNs();
  beside->Prepare();
  Request* const one[] = {beside};
  bench.step(1).Submit(one, NowNs());
  CHECK(entered.Wait());
  bench.Send({1});
  go.Set();
  CHECK(bench.sink.Wait(5));
  CHECK_EQ(most.load(), 1);
}

TEST(ensemble_that_is_aborted_under_a_guest_ends_once_the_guest_has_returned) {
  std::vector<std::thread::id> first;
  std::atomic<bool> holds{false};
  Event entered;
  Event go;
  Script second;
  second.execute = [&](uint32_t, Run& run) {
    if (holds) {
      entered.Set();
      CHECK(go.Wait());
    }
    AddTo(run, 1);
  };
  second.terminate = [&](uint32_t) { go.Set(); };
  EnsembleBench bench(ChainOf(2), {{Noting(&first), WithGuests(3600 * kSecond)},
                                   {std::move(second), WithGuests(3600 * kSecond)}});
  for (size_t i = 1; i <= 3; i++) {
    bench.Send({1});
    CHECK(bench.sink.Wait(i));
    CHECK(Eventually([&] { return bench.step(0).drained() && bench.step(1).drained(); }));
  }
  holds = true;
  bench.Send({1});
  CHECK(entered.Wait());
  // The host has answered, but its thread is not free.
  CHECK(!bench.step(0).drained());
  bench.ensemble().Close();
  bench.ensemble().Abort(Status::Cancelled("closed"));
  bench.step(1).Close();
  bench.step(1).Abort(Status::Cancelled("closed"));
  CHECK(bench.sink.Wait(4));
  CHECK_EQ(bench.sink.Of(3).status.message(), "closed");
  CHECK(Eventually([&] { return bench.step(0).drained() && bench.ensemble().drained(); }));
}

}  // namespace tritonts::test
