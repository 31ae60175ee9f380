// The threads that enqueue batches of plans: one per GPU, or one per instance. Driver, GPUs and
// TensorRT are the fakes of test/fakes.
#include <filesystem>
#include <fstream>

#include "tensorrt_fixture.h"

namespace tritonts::test {

namespace {

// Holds back batches of plans with this `op` while they are enqueued, until the destructor at the
// latest.
class HeldEnqueueing {
 public:
  HeldEnqueueing(const std::string& op, const std::string& which) : library_(FakeTensorRt(which)) {
    Hold(op);
  }
  ~HeldEnqueueing() { Release(); }
  HeldEnqueueing(const HeldEnqueueing&) = delete;
  HeldEnqueueing& operator=(const HeldEnqueueing&) = delete;
  void Release() { Hold(""); }
  int held() const { return Of<int()>(library_, "fakeInferHeld")(); }

 private:
  void Hold(const std::string& op) { Of<void(const char*)>(library_, "fakeInferHold")(op.c_str()); }
  const std::string library_;
};

int SubmissionThreads() {
  int count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name == "tritonts-gpu") count++;
  }
  return count;
}

// Checks that another plan on the same GPU responds while one is held back.
void CheckOthersGoOn(const ModelSpec& held_spec, const std::string& op, const ModelIo& io,
                     const std::string& which) {
  PlanBench held(held_spec, {0}, io);
  HeldEnqueueing enqueueing(op, which);
  held.Ask({5});
  CHECK(Eventually([&] { return enqueueing.held() == 1; }));
  {
    PlanBench other(PlanSpec(PlanText("add", "0 0 0 -1 4", which.substr(0, 2)), "0", which));
    other.Ask({7});
    const bool answered = other.sink.Wait(1);
    CHECK(answered);
    CHECK(answered && other.Answered(0, 7));
    // Otherwise its thread would not end.
    if (!answered) enqueueing.Release();
  }
  CHECK(held.sink.responses().empty());
  enqueueing.Release();
  CHECK(held.sink.Wait(1));
  CHECK_EQ(held.StatusOf(0).message(), "");
}

}  // namespace

TEST(tensorrt_that_waits_for_data_does_not_hold_other_models_of_the_gpu_back) {
  for (const char* which : {"10", "10.16", "11"}) {
    CheckOthersGoOn(
        PlanSpec(PlanText("positive", "0 0 0 -1 4", std::string(which).substr(0, 2)), "0", which),
        "positive", Io(), which);
  }
  CHECK(Objects() == kNone);
}

TEST(tensorrt_with_the_policy_blocking_has_a_thread_for_each_instance) {
  const std::map<std::string, std::string> blocking{{"execution_policy", "BLOCKING"}};
  CheckOthersGoOn(PlanSpec(PlanText("copy"), "0", "10", blocking), "copy", Io(), "10");
  {
    PlanBench bench(PlanSpec(PlanText("copy"), "0", "10", blocking), {0, 0, 0});
    HeldEnqueueing enqueueing("copy", "10");
    for (int i = 1; i <= 3; i++) {
      bench.Ask({static_cast<float>(i)});
      CHECK(Eventually([&] { return enqueueing.held() == i; }));
    }
    enqueueing.Release();
    CHECK(bench.sink.Wait(3));
    // Row i is i + 1.
    for (uint32_t i = 0; i < 3; i++) CHECK(bench.Answered(i, static_cast<float>(i)));
  }
  CHECK(Objects() == kNone);
}

// A plan without output shapes that depend on data shares the GPU's thread, even with shape
// tensors.
TEST(tensorrt_enqueues_all_batches_of_a_gpu_by_one_thread_where_none_waits) {
  const ModelIo io{0,
                   {{"x", DataType::kFp32, {1}}, {"s", DataType::kInt64, {2}}},
                   {{"y", DataType::kFp32, {-1, -1}}}};
  PlanBench filling(PlanSpec("fake-plan 10\nop fill\ninput x 0 0 0 1\ninput s 8 1 0 2\n"
                             "output y 0 0 0 -1 -1\nvalues s 1 1 2 2 4 5\n",
                             "0", "10.16"),
                    {0}, io);
  PlanBench adding(PlanSpec(PlanText(), "0", "10.16"));
  adding.Ask({5});
  Request* const request = filling.requests.Add();
  filling.requests.Input(request, 0, DataType::kFp32, {1}, BytesOf(std::vector<float>{7}));
  filling.requests.Input(request, 1, DataType::kInt64, {2}, BytesOf(std::vector<int64_t>{1, 2}));
  filling.Submit({request});
  CHECK(filling.sink.Wait(1));
  CHECK(adding.sink.Wait(1));
  CHECK_EQ(filling.StatusOf(0).message(), "");
  // A thread gets its name when it first enqueues work.
  CHECK_EQ(SubmissionThreads(), 1);
}

}  // namespace tritonts::test
