// Tensors that pass from one GPU to another between the steps of an ensemble.
#include "gpu_chain.h"

namespace tritonts::test {

namespace {

int64_t PeerCopies() {
  return CallsOf("cuMemcpyPeerAsync");
}
int PairsThatReach() {
  return OfDriver<int()>("fakeCudaPeers")();
}

}  // namespace

TEST(gpu_tensors_go_from_one_gpu_to_another_without_the_host) {
  {
    GpuChain chain({{PlanText(), {0}}, {PlanText(), {1}}, {PlanText(), {0}}});
    const Copies before;
    const int64_t peer = PeerCopies();
    for (uint32_t i = 0; i < 20; i++) {
      chain.Ask({static_cast<float>(i), 100});
      CHECK(chain.sink.Wait(i + 1));
      CHECK(chain.Answered(i, {static_cast<float>(i + 3), 103}));
    }
    CHECK(before.Since() == (std::vector<int64_t>{20, 20, 0}));
    CHECK_EQ(PeerCopies() - peer, 40);
    CHECK_EQ(PairsThatReach(), 2);
  }
  CHECK_EQ(PairsThatReach(), 0);
  CHECK(Objects() == kNone);
}

TEST(gpu_tensors_of_a_group_go_from_one_gpu_to_another) {
  GpuChain chain({{PlanText(), {0}}, {PlanText(), {1}}});
  const int64_t peer = PeerCopies();
  RowGroup group(&chain.sink, {1, 2, 3});
  chain.Submit(group.all());
  CHECK(chain.sink.Wait(3));
  const std::vector<SeenResponse> seen = chain.sink.AllOf(0);
  for (uint32_t i = 0; i < 3; i++) CHECK(FloatsOf(seen[i]) == Row(static_cast<float>(i + 3)));
  CHECK_EQ(PeerCopies() - peer, 1);
}

TEST(gpu_access_to_a_peer_is_asked_for_once) {
  GpuChain chain({{PlanText(), {0}}, {PlanText(), {1}}});
  const int64_t asked = CallsOf("cuDeviceCanAccessPeer");
  const int64_t enabled = CallsOf("cuCtxEnablePeerAccess");
  const int64_t pools = CallsOf("cuMemPoolSetAccess");
  for (uint32_t i = 0; i < 3; i++) {
    chain.Ask({1});
    CHECK(chain.sink.Wait(i + 1));
    CHECK(chain.Answered(i, {3}));
  }
  CHECK_EQ(CallsOf("cuDeviceCanAccessPeer") - asked, 1);
  CHECK_EQ(CallsOf("cuCtxEnablePeerAccess") - enabled, 1);
  CHECK_EQ(CallsOf("cuMemPoolSetAccess") - pools, 1);
}

TEST(gpu_tensors_go_to_a_gpu_that_cannot_reach_the_other_one) {
  const ScopedVariable none("TRITONTS_FAKE_PEERS", "1:0");
  GpuChain chain({{PlanText(), {0}}, {PlanText(), {1}}, {PlanText(), {0}}});
  const int64_t enabled = CallsOf("cuCtxEnablePeerAccess");
  chain.Ask({1});
  CHECK(chain.sink.Wait(1));
  CHECK(chain.Answered(0, {4}));
  CHECK_EQ(CallsOf("cuCtxEnablePeerAccess") - enabled, 1);
  // The call that asks for access may fail: the copy does not need it.
  FailOnce("cuDeviceCanAccessPeer", 2);
  GpuChain other({{PlanText(), {1}}, {PlanText(), {0}}});
  other.Ask({1});
  CHECK(other.sink.Wait(1));
  CHECK(other.Answered(0, {3}));
}

// A version may have instances on several GPUs, and a batch may have tensors from several.
TEST(gpu_batches_are_put_together_of_tensors_of_several_gpus) {
  const ScopedVariable delay("TRITONTS_FAKE_DELAY_US", "200");
  {
    GpuChain chain({{PlanText(), {0, 1}}, {PlanText(), {0, 1}}, {PlanText(), {1, 0}}});
    const Copies before;
    for (uint32_t i = 0; i < 200; i++) chain.Ask({static_cast<float>(i)});
    CHECK(chain.sink.Wait(200));
    for (uint32_t i = 0; i < 200; i++) CHECK(chain.Answered(i, {static_cast<float>(i + 3)}));
    // Only copies from and to the caller.
    const auto batches = [&](size_t step) {
      return static_cast<int64_t>(chain.step(step).statistics().execution_count);
    };
    CHECK(Eventually([&] { return before.Since()[0] == batches(0); }));
    CHECK(Eventually([&] { return before.Since()[1] == batches(2); }));
  }
  CHECK(Objects() == kNone);
}

TEST(gpu_batches_fail_whose_tensors_are_on_a_gpu_that_is_lost) {
  {
    GpuChain chain({{PlanText(), {0}}, {PlanText(), {1}, Dynamic(8, {2}, kLong)}});
    chain.Ask({1});
    CHECK(Eventually([&] { return chain.step(0).statistics().success.count == 1; }));
    LoseGpu(0);
    // The driver reports the loss with the next work.
    chain.AskStep(0, {1});
    CHECK(chain.sink.Wait(1));
    chain.AskStep(1, {2});
    CHECK(chain.sink.Wait(3));
    CHECK(Contains(chain.sink.Of(0).status, "the GPU is lost for this process: GPU 0: "));
    // The other GPU continues.
    chain.AskStep(1, {3, 4});
    CHECK(chain.sink.Wait(4));
    CHECK(chain.Answered(3, {4, 5}));
  }
  CHECK(Objects() == kNone);
}

TEST(gpu_tensors_whose_copy_fails_fail_their_batch) {
  GpuChain chain({{PlanText(), {0}}, {PlanText(), {1}}});
  FailOnce("cuMemcpyPeerAsync", 2);
  chain.Ask({1});
  CHECK(chain.sink.Wait(1));
  CHECK(Contains(chain.sink.Of(0).status,
                 "input 'x': GPU 1: cuMemcpyPeerAsync failed with CUDA_ERROR_OUT_OF_MEMORY"));
  chain.Ask({1});
  CHECK(chain.sink.Wait(2));
  CHECK(chain.Answered(1, {3}));
}

// A tensor outlives the models of its GPU.
TEST(gpu_tensors_are_read_although_their_model_is_gone) {
  {
    GpuChain chain({{PlanText(), {0}}, {PlanText(), {1}, Dynamic(8, {2}, kLong)}});
    chain.Ask({1});
    CHECK(Eventually([&] { return chain.step(0).statistics().success.count == 1; }));
    chain.step(0).Close();
    CHECK(Eventually([&] { return chain.step(0).drained(); }));
    std::thread destroying([&] { chain.step(0).Destroy(); });
    chain.AskStep(1, {2});
    CHECK(chain.sink.Wait(2));
    CHECK(chain.Answered(0, {3}));
    destroying.join();
    chain.NoteDestroyed(0);
  }
  CHECK(Objects() == kNone);
}

}  // namespace tritonts::test
