// Requests refused by a full queue, possibly very many at a time.
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/scheduling/policy_scheduler.h"
#include "ensemble_fixture.h"

namespace tritonts::test {

namespace {

// Counts the requests that it gets.
class CountingScheduler final : public Scheduler {
 public:
  CountingScheduler(uint64_t max_queue_size, uint64_t* shown) : shown_(shown) {
    QueuePolicies policies;
    policies.general.max_queue_size = max_queue_size;
    scheduler_ = std::make_unique<PolicyScheduler>(
        Dynamic(1), std::make_shared<const QueuePolicies>(policies), "m");
  }
  Status Enqueue(Request* request, uint64_t now_ns) override {
    return scheduler_->Enqueue(request, now_ns);
  }
  size_t EnqueueSome(std::span<Request* const> requests, uint64_t now_ns,
                     Status* refused) override {
    *shown_ += requests.size();
    return scheduler_->EnqueueSome(requests, now_ns, refused);
  }
  void Expire(uint64_t now_ns, Expired* expired) override { scheduler_->Expire(now_ns, expired); }
  void Next(uint32_t instance, uint64_t now_ns, Batch* batch) override {
    scheduler_->Next(instance, now_ns, batch);
  }
  void Finished(uint32_t instance, uint64_t now_ns) override {
    scheduler_->Finished(instance, now_ns);
  }
  bool Cancel(Request* request) override { return scheduler_->Cancel(request); }
  void Drain(RequestChain* requests) override { scheduler_->Drain(requests); }
  size_t waiting() const override { return scheduler_->waiting(); }

 private:
  std::unique_ptr<PolicyScheduler> scheduler_;
  uint64_t* const shown_;
};

TEST(version_refuses_very_many_in_time_that_grows_with_their_number) {
  constexpr size_t kCount = 10'000;
  auto runs = std::make_shared<Runs>();
  runs->Shut();
  uint64_t shown = 0;
  VersionConfig config = ConfigOf(FloatIo());
  config.scheduler = [&shown] { return std::make_unique<CountingScheduler>(3, &shown); };
  VersionBench bench(ScriptOf(runs), std::move(config));
  Group group(&bench.sink, std::vector<float>(kCount, 1));
  bench.Submit(group.all());
  // One runs, and three wait.
  CHECK(bench.sink.Wait(kCount - 4));
  CHECK_EQ(bench.version().statistics().refused, uint64_t{kCount - 4});
  CHECK(shown <= 4 * kCount);
  runs->Open();
  CHECK(bench.sink.Wait(kCount));
  std::map<Code, size_t> codes;
  for (const SeenResponse& seen : bench.sink.responses()) codes[seen.status.code()]++;
  CHECK_EQ(codes[Code::kOk], size_t{4});
  CHECK_EQ(codes[Code::kUnavailable], kCount - 4);
}

}  // namespace

}  // namespace tritonts::test
