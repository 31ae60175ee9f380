// The dispatcher: which instance gets which batch.
#include "engine/version/dispatcher.h"

#include "run_fixture.h"
#include "table_scheduler.h"

namespace tritonts::test {

namespace {

using Instances = std::vector<uint32_t>;
using ThreadState = InstanceRunner::ThreadState;

struct DispatcherBench {
  explicit DispatcherBench(size_t count, bool asynchronous = false) {
    auto own = std::make_unique<TableScheduler>();
    scheduler = own.get();
    std::vector<InstanceRunner*> all;
    for (uint32_t i = 0; i < count; i++) {
      runners.push_back(std::make_unique<InstanceRunner>(
          InstanceSpec{"m_" + std::to_string(i), i, MemoryKind::kHost, 0},
          std::make_unique<IdleInstance>(asynchronous)));
      runners.back()->thread_state = ThreadState::kStarted;
      all.push_back(runners.back().get());
    }
    dispatcher = std::make_unique<Dispatcher>(std::move(own), all, &context, InlinePolicy());
  }
  ~DispatcherBench() {
    while (PooledRun* run = dispatcher->under_way()) End(run);
    CHECK(dispatcher->idle());
  }

  Request* Queue(uint32_t bound = Request::kUnbound) {
    Request* request = requests.Add(1);
    request->bound = bound;
    CHECK(dispatcher->MakeRoom(1));
    CHECK(dispatcher->Enqueue(request, 0).ok());
    request->set_state(Request::State::kQueued);
    return request;
  }
  Orders Ask(InstanceRunner* awake = nullptr, uint64_t now_ns = 0) {
    Orders orders;
    scheduler->asked.clear();
    dispatcher->Ask(now_ns, awake, owner.get(), &orders);
    return orders;
  }
  // Ends a run, and adds it to the statistics.
  void End(PooledRun* run) {
    InstanceRunner* runner = run->runner();
    runner->next = nullptr;
    run->Begin(NowNs());
    run->RespondAll(Status::Ok());
    CHECK(run->Returned());
    CHECK(run->EndExecute(run->FreeInstance()));
    dispatcher->Account(run, &statistics);
    Orders orders;
    if (runner->occupied) dispatcher->Free(runner, 0, &orders);
  }
  // By instance: the slot of its request; ~0: none.
  std::vector<uint32_t> Slots() {
    std::vector<uint32_t> slots(runners.size(), ~0u);
    for (PooledRun* run = dispatcher->under_way(); run; run = run->next) {
      slots[run->runner()->index] = run->requests()[0]->header->slot;
    }
    return slots;
  }

  RunContext context{"m", true, nullptr};
  TableScheduler* scheduler = nullptr;
  std::vector<std::unique_ptr<InstanceRunner>> runners;
  RecordingSink sink;
  Requests requests{&sink};
  std::shared_ptr<RecordingOwner> owner = std::make_shared<RecordingOwner>();
  std::unique_ptr<Dispatcher> dispatcher;
  Statistics statistics;
};

}  // namespace

TEST(dispatcher_asks_for_every_free_instance_though_the_first_has_nothing) {
  DispatcherBench bench(3);
  bench.scheduler->barren = {0, 1};
  bench.Queue();
  const Orders orders = bench.Ask();
  CHECK_EQ(bench.scheduler->asked, (Instances{0, 1, 2}));
  CHECK_EQ(bench.Slots(), (std::vector<uint32_t>{~0u, ~0u, 0}));
  CHECK(orders.wake.front() == bench.runners[2].get());
}

TEST(dispatcher_asks_first_for_the_instance_whose_thread_is_awake) {
  DispatcherBench bench(3);
  bench.Queue();
  const Orders orders = bench.Ask(bench.runners[1].get());
  CHECK_EQ(bench.scheduler->asked, (Instances{1}));
  CHECK_EQ(bench.Slots(), (std::vector<uint32_t>{~0u, 0, ~0u}));
  CHECK(!orders.any());
}

TEST(dispatcher_gives_what_is_bound_to_its_instance_only) {
  DispatcherBench bench(3);
  bench.Queue(2);
  bench.Queue(0);
  bench.Queue(2);
  bench.Ask();
  CHECK_EQ(bench.Slots(), (std::vector<uint32_t>{1, ~0u, 0}));
  CHECK_EQ(bench.scheduler->waiting(), 1u);
}

TEST(dispatcher_gives_nothing_to_an_instance_that_is_lost_while_there_are_others) {
  DispatcherBench bench(3);
  const auto lose = [&](size_t index) {
    static_cast<IdleInstance&>(*bench.runners[index]->instance).is_lost = true;
  };
  lose(0);
  for (int i = 0; i < 3; i++) bench.Queue();
  bench.Ask();
  CHECK_EQ(bench.Slots(), (std::vector<uint32_t>{~0u, 0, 1}));
  CHECK_EQ(bench.scheduler->waiting(), 1u);
  // A thread that asks for its next batch gets none, either.
  bench.Ask(bench.runners[0].get());
  CHECK_EQ(bench.scheduler->waiting(), 1u);
  // An instance without a thread is not worth waiting for.
  lose(1);
  bench.End(bench.dispatcher->under_way());
  bench.runners[2]->thread_state = ThreadState::kRefused;
  bench.Ask();
  CHECK_EQ(bench.Slots()[0], 2u);
  CHECK_EQ(bench.scheduler->waiting(), 0u);
}

TEST(dispatcher_gives_an_instance_one_batch_until_it_is_free) {
  DispatcherBench bench(1);
  bench.Queue();
  bench.Queue();
  bench.Ask();
  bench.Ask();
  CHECK(bench.scheduler->asked.empty());
  PooledRun* first = bench.dispatcher->under_way();
  CHECK(bench.dispatcher->TakeBatch(bench.runners[0].get()) == first);
  Orders orders;
  bench.dispatcher->Free(bench.runners[0].get(), 0, &orders);
  CHECK_EQ(bench.scheduler->finished, (Instances{0}));
  bench.Ask();
  // Two runs of one instance are under way.
  CHECK(bench.dispatcher->under_way()->next == first);
  CHECK(!bench.dispatcher->idle());
  bench.End(first);
}

TEST(dispatcher_asks_what_expires_while_every_instance_is_busy) {
  DispatcherBench bench(1);
  bench.scheduler->lifetime_ns = 10;
  bench.Queue()->header->arrival_ns = 0;
  bench.Ask();
  Request* old = bench.Queue();
  old->header->arrival_ns = 5;
  bench.Queue()->header->arrival_ns = 12;
  CHECK_EQ(bench.Ask(nullptr, 14).wake_at_ns, 15u);
  Orders orders = bench.Ask(nullptr, 15);
  CHECK(bench.scheduler->asked.empty());
  CHECK_EQ(orders.expired.size(), 1u);
  CHECK(orders.expired.Pop() == old);
  CHECK_EQ(orders.wake_at_ns, 22u);
}

TEST(dispatcher_starts_a_thread_with_the_first_batch) {
  DispatcherBench bench(1);
  bench.runners[0]->thread_state = ThreadState::kNone;
  bench.Queue();
  Orders orders = bench.Ask();
  CHECK_EQ(orders.start.size(), 1u);
  CHECK(orders.wake.empty());
  bench.dispatcher->ThreadStarted(bench.runners[0].get(), true, 0, &orders);
  CHECK(bench.runners[0]->thread_state == ThreadState::kStarted);
}

TEST(dispatcher_gives_a_batch_to_another_instance_where_the_system_has_no_thread) {
  DispatcherBench bench(2);
  bench.runners[0]->thread_state = ThreadState::kNone;
  bench.Queue();
  Orders orders = bench.Ask();
  bench.dispatcher->ThreadStarted(bench.runners[0].get(), false, 0, &orders);
  CHECK_EQ(bench.scheduler->waiting(), 1u);
  bench.Ask();
  CHECK_EQ(bench.Slots(), (std::vector<uint32_t>{~0u, 0}));
}

TEST(dispatcher_fails_what_waits_where_the_system_has_no_thread_at_all_until_it_may_have) {
  DispatcherBench bench(1);
  bench.runners[0]->thread_state = ThreadState::kNone;
  Request* request = bench.Queue();
  Orders orders = bench.Ask();
  bench.dispatcher->ThreadStarted(bench.runners[0].get(), false, 0, &orders);
  orders = bench.Ask();
  CHECK_EQ(orders.stranded.size(), 1u);
  CHECK(orders.stranded.Pop() == request);
  bench.dispatcher->RetryThreads();
  bench.Queue();
  CHECK_EQ(bench.Ask().start.size(), 1u);
}

TEST(dispatcher_hands_over_to_an_asynchronous_instance_once_at_a_time) {
  using Handing = InstanceRunner::Handing;
  DispatcherBench bench(1, true);
  InstanceRunner* runner = bench.runners[0].get();
  runner->thread_state = ThreadState::kNone;
  bench.Queue();
  bench.Queue();
  Orders orders = bench.Ask();
  CHECK_EQ(orders.hand_over.size(), 1u);
  CHECK(orders.start.empty());
  PooledRun* first = std::exchange(runner->next, nullptr);
  // A thread is in Execute and has called InstanceFree. That thread takes the next batch, too.
  bench.dispatcher->Free(runner, 0, &orders);
  orders = bench.Ask();
  CHECK(orders.hand_over.empty());
  CHECK(runner->handing == Handing::kAnother);
  PooledRun* second = std::exchange(runner->next, nullptr);
  CHECK(second && second != first);
  bench.dispatcher->Free(runner, 0, &orders);
  for (PooledRun* run : {first, second}) {
    run->Begin(NowNs());
    run->RespondAll(Status::Ok());
    CHECK(run->Returned());
    CHECK(run->EndExecute(run->FreeInstance()));
    bench.dispatcher->Account(run, &bench.statistics);
  }
  CHECK_EQ(bench.statistics.success.count, 2u);
}

}  // namespace tritonts::test
