// The inbox of a JavaScript model's instance, without an environment: no batch is lost, none ends
// twice, and an instance is free only when a batch could be taken.
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

#include "check.h"
#include "engine/request/call_graph.h"
#include "inbox/inbox.h"

namespace tritonts::test {

namespace {

// Counts the events of its requests. Thread-safe.
class CountedRun final : public Run {
 public:
  explicit CountedRun(uint32_t requests = 1) : owned_(requests) {
    for (Request& request : owned_) requests_.push_back(&request);
  }

  BlockPool& pool() override { return pool_; }
  MemoryCopier* memory() override { return nullptr; }
  void MarkInputsReady(uint64_t = 0) override {}
  void MarkComputed(uint64_t = 0) override {}
  StatusOr<Buffer> Output(uint32_t, uint32_t, DataType, std::span<const int64_t>,
                          MemoryKind) override {
    return Status::Internal("no outputs here");
  }
  void SetOutput(uint32_t, DataType, std::span<const int64_t>, const void*, size_t,
                 Block*) override {}
  void SetRaggedOutput(uint32_t, DataType, std::span<const int64_t>, const void*,
                       std::span<const size_t>, Block*) override {}
  void SetRequestOutput(uint32_t, uint32_t, DataType, std::span<const int64_t>, const void*, size_t,
                        Block*) override {}
  void SetParameters(uint32_t, ResponseParameters) override {}
  void DropOutputs(uint32_t) override {}
  void Respond(uint32_t, const Status& status, bool) override {
    // Like the engine's runs, it ignores responses after the end.
    if (responses++ == 0) {
      code = status.code();
      text = status.message();
    }
    if (on_response) on_response();
  }
  void EndResponses(uint32_t) override {}
  void Release(uint32_t) override {}
  void Reschedule(uint32_t, bool seen) override {
    // The model has not run it.
    CHECK(!seen);
    rescheduled++;
  }
  std::optional<Unread> UnreadOf(uint32_t, uint32_t) override { return std::nullopt; }
  bool AwaitRead(uint32_t, uint32_t, std::shared_ptr<ReadListener>) override { return false; }
  void InstanceFree() override { freed++; }

  bool ended() const { return responses > 0 || rescheduled > 0; }

  std::atomic<int> responses{0};
  std::atomic<int> rescheduled{0};
  std::atomic<int> freed{0};
  std::atomic<int> references{0};
  Code code = Code::kOk;
  std::string text;
  std::function<void()> on_response;

 private:
  void Retain() override { references++; }
  void Drop() override { references--; }

  std::deque<Request> owned_;
  BlockPool pool_{0};
};

struct StatesBench {
  explicit StatesBench(uint32_t concurrency = 1)
      : inbox("m", "m_0", concurrency, std::make_shared<CallPlaces>("m")) {}
  // Attaches an environment whose model serves.
  void Serve() {
    CHECK(inbox.Attach([this] { woken++; }));
    inbox.Up();
  }
  // Takes a batch, which must be `expected`, and returns its slot.
  uint32_t Take(const CountedRun& expected) {
    uint32_t slot = 99;
    Run* run = nullptr;
    CHECK(inbox.Take(&slot, &run) == Inbox::Next::kBatch);
    CHECK(run == &expected);
    return slot;
  }
  bool IsEmpty(Inbox::Next next = Inbox::Next::kNone) {
    uint32_t slot = 0;
    Run* run = nullptr;
    return inbox.Take(&slot, &run) == next;
  }

  Inbox inbox;
  std::atomic<int> woken{0};
};

}  // namespace

TEST(inbox_does_not_give_a_batch_that_it_is_ending) {
  StatesBench bench(2);
  CountedRun first;
  CountedRun second;
  bench.Serve();
  bench.inbox.Push(first);
  bench.inbox.Push(second);
  // The environment looks for work while another thread responds.
  uint32_t slot = 99;
  Run* run = nullptr;
  Inbox::Next next = Inbox::Next::kClosed;
  second.on_response = [&] { next = bench.inbox.Take(&slot, &run); };
  bench.inbox.Terminate();
  CHECK(next == Inbox::Next::kNone);
  CHECK(run == nullptr);
  bench.inbox.Settle();
  bench.inbox.Detach();
  CHECK_EQ(first.responses.load(), 1);
  CHECK_EQ(second.responses.load(), 1);
}

TEST(inbox_gives_batches_in_their_order_and_frees_the_instance_when_one_has_ended) {
  StatesBench bench(2);
  bench.Serve();
  CountedRun first, second;
  bench.inbox.Push(first);
  CHECK_EQ(first.freed, 1);  // it takes two batches at once
  bench.inbox.Push(second);
  CHECK_EQ(second.freed, 0);
  const uint32_t slot = bench.Take(first);
  const uint32_t other = bench.Take(second);
  CHECK(bench.IsEmpty());
  CHECK(!bench.inbox.Leave(slot, true));
  CHECK_EQ(first.text, "model 'm': instance 'm_0' returned no result for this request");
  CHECK_EQ(second.freed, 1);
  CHECK_EQ(second.responses, 0);
  CHECK(!bench.inbox.Leave(other, true));
  CHECK_EQ(first.references + second.references, 0);
}

TEST(inbox_lets_a_batch_be_entered_again_until_it_has_ended) {
  StatesBench bench;
  bench.Serve();
  CountedRun run;
  bench.inbox.Push(run);
  const uint32_t slot = bench.Take(run);
  CHECK(bench.inbox.Enter(slot) == nullptr);  // already entered
  CHECK(bench.inbox.Leave(slot, false));
  CHECK(bench.inbox.Enter(slot) == &run);
  CHECK(!bench.inbox.Leave(slot, true));
  CHECK(bench.inbox.Enter(slot) == nullptr);
  CHECK(bench.inbox.Enter(7) == nullptr);
  CHECK_EQ(run.freed, 1);
}

TEST(inbox_wakes_once_after_each_sleep) {
  StatesBench bench(2);
  bench.Serve();
  CountedRun first, second;
  CHECK(bench.inbox.Sleep());
  bench.inbox.Push(first);
  bench.inbox.Push(second);
  CHECK_EQ(bench.woken, 1);
  CHECK(!bench.inbox.Sleep());  // there is something to take
  bench.inbox.Leave(bench.Take(first), true);
  bench.inbox.Leave(bench.Take(second), true);
  CHECK(bench.inbox.rung());
  CHECK(bench.IsEmpty());
  CHECK(!bench.inbox.rung());
  CHECK(bench.inbox.Sleep());
  bench.inbox.Close();
  CHECK_EQ(bench.woken, 2);
  CHECK(!bench.inbox.Sleep());
  CHECK(bench.IsEmpty(Inbox::Next::kClosed));
}

TEST(inbox_queues_requests_again_while_nobody_serves_and_is_free_when_somebody_does) {
  StatesBench bench;
  CountedRun early(3);
  bench.inbox.Push(early);
  CHECK_EQ(early.rescheduled, 3);
  CHECK_EQ(early.freed, 0);
  CHECK(bench.inbox.Attach([] {}));
  CHECK(!bench.inbox.Attach([] {}));
  CHECK_EQ(early.freed, 0);
  bench.inbox.Up();
  CHECK_EQ(early.freed, 1);
  CHECK_EQ(early.references, 0);
}

TEST(inbox_fails_what_ran_and_queues_again_what_waited_when_the_environment_ends) {
  StatesBench bench(2);
  bench.Serve();
  CountedRun running, waiting(2);
  bench.inbox.Push(running);
  bench.inbox.Push(waiting);
  bench.inbox.Leave(bench.Take(running), false);
  bench.inbox.Detach();
  CHECK_EQ(running.text, "model 'm': the thread of instance 'm_0' ended while it ran this request");
  CHECK(running.code == Code::kUnavailable);
  CHECK_EQ(waiting.rescheduled, 2);
  CHECK_EQ(waiting.responses, 0);
  CHECK_EQ(running.freed + waiting.freed, 1);  // for the first batch, as there was room
  bench.Serve();
  CHECK_EQ(running.freed + waiting.freed, 2);
  CHECK_EQ(running.references + waiting.references, 0);
}

TEST(inbox_that_settles_keeps_what_waits_for_the_next_environment) {
  StatesBench bench(2);
  bench.Serve();
  CountedRun running, waiting;
  bench.inbox.Push(running);
  bench.inbox.Push(waiting);
  bench.inbox.Leave(bench.Take(running), false);
  bench.inbox.Settle();
  bench.inbox.Detach();
  CHECK(running.code == Code::kUnavailable);
  CHECK(!waiting.ended());
  CHECK_EQ(running.freed + waiting.freed, 2);
  bench.Serve();
  bench.inbox.Leave(bench.Take(waiting), true);
  CHECK_EQ(waiting.responses, 1);
}

TEST(inbox_terminates_all_but_leaves_the_batch_that_somebody_is_inside_of) {
  StatesBench bench(3);
  bench.Serve();
  CountedRun inside, taken, waiting, late;
  bench.inbox.Push(inside);
  bench.inbox.Push(taken);
  bench.inbox.Push(waiting);
  const uint32_t slot = bench.Take(inside);
  const uint32_t left = bench.Take(taken);
  bench.inbox.Leave(left, false);
  bench.inbox.Terminate();
  CHECK_EQ(inside.responses, 0);
  CHECK(taken.code == Code::kCancelled);
  CHECK(waiting.code == Code::kCancelled);
  CHECK(bench.inbox.Enter(left) == nullptr);
  CHECK(!bench.inbox.Leave(slot, false));  // it ends now
  CHECK_EQ(inside.text, "model 'm': instance 'm_0' was asked to end");
  bench.inbox.Push(late);
  CHECK(late.code == Code::kCancelled);
  CHECK_EQ(late.freed, 1);
  CHECK(bench.IsEmpty());
  CHECK_EQ(inside.references + taken.references + waiting.references + late.references, 0);
}

TEST(inbox_that_is_closed_takes_neither_batches_nor_environments) {
  StatesBench bench;
  bench.inbox.Close();
  CHECK(!bench.inbox.Attach([] {}));
  CountedRun late;
  bench.inbox.Push(late);
  CHECK(late.code == Code::kCancelled);
  CHECK_EQ(late.freed, 1);
}

// One thread pushes; the other is the environment, which ends again and again. Finally the version
// is terminated in the middle of it.
TEST(inbox_loses_nothing_where_threads_push_serve_end_and_terminate) {
  constexpr int kRuns = 3000;
  for (const uint32_t concurrency : {1u, 3u}) {
    StatesBench bench(concurrency);
    std::deque<CountedRun> runs(kRuns);
    std::atomic<int> pushed{0};
    std::atomic<bool> stop{false};
    std::thread environment([&] {
      while (!stop) {
        if (!bench.inbox.Attach([&] { bench.woken++; })) return;
        bench.inbox.Up();
        for (int life = 0; life < 50 && !stop; life++) {
          uint32_t slot = 0;
          Run* run = nullptr;
          const Inbox::Next next = bench.inbox.Take(&slot, &run);
          if (next == Inbox::Next::kClosed) break;
          if (next == Inbox::Next::kNone) {
            const int before = bench.woken;
            if (bench.inbox.Sleep()) {
              while (bench.woken == before && !stop) std::this_thread::yield();
            }
            continue;
          }
          if (life % 3 == 0 && bench.inbox.Leave(slot, false)) {
            run = bench.inbox.Enter(slot);
            if (!run) continue;
          } else if (life % 3 == 0) {
            continue;
          }
          // At the end of a life the last batch remains.
          if (life == 49) {
            bench.inbox.Leave(slot, false);
            break;
          }
          run->RespondAll(Status::Ok());
          bench.inbox.Leave(slot, true);
        }
        bench.inbox.Detach();
      }
    });
    std::thread engine([&] {
      // Like the engine, it pushes the next batch only when the instance has reported that it is
      // free.
      for (CountedRun& run : runs) {
        int freed = 0;
        for (;;) {
          freed = 0;
          for (int i = 0; i < pushed; i++) freed += runs[static_cast<size_t>(i)].freed;
          if (freed == pushed) break;
          std::this_thread::yield();
        }
        if (pushed == kRuns - 500) bench.inbox.Terminate();
        bench.inbox.Push(run);
        pushed++;
      }
    });
    engine.join();
    stop = true;
    environment.join();
    bench.inbox.Close();
    int ok = 0;
    for (const CountedRun& run : runs) {
      CHECK(run.ended());
      CHECK(run.rescheduled == 0 || run.responses == 0);
      CHECK_EQ(run.freed, 1);
      CHECK_EQ(run.references, 0);
      ok += run.responses > 0 && run.code == Code::kOk;
    }
    CHECK(ok > 0);
  }
}

}  // namespace tritonts::test
