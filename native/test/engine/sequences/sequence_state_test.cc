// The state that a sequence batcher keeps between the requests of a sequence.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "sequence_bench.h"

namespace tritonts::test {

namespace {

constexpr uint32_t kStateInput = 5;
constexpr uint32_t kStateOutput = 2;

SequenceStateSpec FloatState(std::vector<float> first) {
  SequenceStateSpec spec{
      kStateInput, kStateOutput, DataType::kFp32, {1, static_cast<int64_t>(first.size())},
      {},          false};
  spec.first_bytes.resize(4 * first.size());
  std::memcpy(spec.first_bytes.data(), first.data(), spec.first_bytes.size());
  return spec;
}

SequencePolicy StatePolicy(SequencePolicy::Strategy strategy, uint32_t slots,
                           std::vector<float> first = {7, 8}) {
  SequencePolicy policy = PolicyOf(strategy, slots);
  policy.states = {FloatState(std::move(first))};
  return policy;
}

// The state in a slot of the last batch.
std::vector<float> StateAt(const SequenceBench& bench, uint32_t slot) {
  for (const Overlay& overlay : bench.overlays) {
    if (overlay.slot != slot || overlay.tensor.index != kStateInput) continue;
    const Buffer& chunk = overlay.tensor.first_chunks[0];
    CHECK_EQ(overlay.tensor.shape.size(), 2u);
    CHECK_EQ(static_cast<size_t>(overlay.tensor.shape[1]), chunk.size / 4);
    std::vector<float> values(chunk.size / 4);
    if (chunk.size > 0) std::memcpy(values.data(), chunk.data, chunk.size);
    return values;
  }
  return {};
}

void KeepState(SequenceBench* bench, const std::string& name, std::vector<float> values) {
  const int64_t tail[] = {static_cast<int64_t>(values.size())};
  const OutputTensor output{kStateOutput,      DataType::kFp32,   1,      tail, values.data(),
                            4 * values.size(), MemoryKind::kHost, nullptr};
  bench->keeper->Keep(bench->request(name), 0, {&output, 1});
}

using Floats = std::vector<float>;

}  // namespace

TEST(sequence_state_without_bytes_begins_with_zeros) {
  struct Case {
    DataType datatype;
    std::vector<int64_t> shape;
    size_t bytes;
  };
  // An empty text is its length alone, 4 bytes.
  for (const Case& one : {Case{DataType::kFp32, {1, 2, 3}, 24}, Case{DataType::kInt8, {5}, 5},
                          Case{DataType::kBytes, {1, 3}, 12}, Case{DataType::kFp32, {1, 0}, 0}}) {
    SequencePolicy policy = PolicyOf(SequencePolicy::Strategy::kDirect, 1);
    policy.states = {{kStateInput, kStateOutput, one.datatype, one.shape, {}, false}};
    SequenceBench bench(std::move(policy));
    bench.Sequence("a", 1, "S,");
    CHECK_EQ(bench.Next(), std::string("a1"));
    CHECK_EQ(bench.overlays.size(), 1u);
    const InputTensor& tensor = bench.overlays[0].tensor;
    CHECK(std::equal(tensor.shape.begin(), tensor.shape.end(), one.shape.begin(), one.shape.end()));
    const Buffer& chunk = tensor.first_chunks[0];
    CHECK_EQ(chunk.size, one.bytes);
    const char* const bytes = static_cast<const char*>(chunk.data);
    CHECK(std::all_of(bytes, bytes + chunk.size, [](char byte) { return byte == 0; }));
  }
}

TEST(sequence_state_begins_with_the_first_one_and_follows_the_output) {
  for (const auto strategy :
       {SequencePolicy::Strategy::kDirect, SequencePolicy::Strategy::kOldest}) {
    SequenceBench bench(StatePolicy(strategy, 2));
    bench.Sequence("a", 1, "S,,,S,").Sequence("b", 2, "S");
    CHECK_EQ(bench.Next(), std::string("a1 b1"));
    CHECK(bench.keeper->Keeps(kStateOutput));
    CHECK(!bench.keeper->Keeps(0));
    CHECK(StateAt(bench, 0) == (Floats{7, 8}));
    CHECK(StateAt(bench, 1) == (Floats{7, 8}));
    KeepState(&bench, "a1", {1, 2});
    // What a run reads does not change while it runs.
    CHECK(StateAt(bench, 0) == (Floats{7, 8}));
    CHECK_EQ(bench.Done().Next(), std::string("a2"));
    CHECK(StateAt(bench, 0) == (Floats{1, 2}));
    // A run that fails keeps nothing.
    CHECK_EQ(bench.Done().Next(), std::string("a3"));
    CHECK(StateAt(bench, 0) == (Floats{1, 2}));
    KeepState(&bench, "a3", {3, 4});
    // START on a live id begins with the first state again.
    CHECK_EQ(bench.Done().Next(), std::string("a4"));
    CHECK(StateAt(bench, 0) == (Floats{7, 8}));
    KeepState(&bench, "a4", {5, 6});
    CHECK_EQ(bench.Done().Next(), std::string("a5"));
    CHECK(StateAt(bench, 0) == (Floats{5, 6}));
  }
}

TEST(sequence_state_of_an_empty_slot_is_zeros) {
  SequenceBench bench(StatePolicy(SequencePolicy::Strategy::kDirect, 3));
  bench.Sequence("a", 1, "S").Sequence("b", 2, "S,").Sequence("c", 3, "S,E");
  CHECK_EQ(bench.Next(), std::string("a1 b1 c1"));
  CHECK_EQ(bench.Done().Next(), std::string("- b2 c2"));
  CHECK(StateAt(bench, 0) == (Floats{0, 0}));
  CHECK(StateAt(bench, 1) == (Floats{7, 8}));
}

TEST(sequence_state_may_grow_and_other_shapes_run_in_other_batches) {
  for (const auto strategy :
       {SequencePolicy::Strategy::kDirect, SequencePolicy::Strategy::kOldest}) {
    SequenceBench bench(StatePolicy(strategy, 2, {7}));
    bench.Sequence("a", 1, "S,,").Sequence("b", 2, "S,");
    CHECK_EQ(bench.Next(), std::string("a1 b1"));
    Floats large(3000, 1.5f);
    KeepState(&bench, "a1", large);
    KeepState(&bench, "b1", {2});
    bench.Done();
    const bool direct = strategy == SequencePolicy::Strategy::kDirect;
    CHECK_EQ(bench.Next(), std::string(direct ? "a2 -" : "a2"));
    CHECK(StateAt(bench, 0) == large);
    CHECK(bench.closed_by == ClosedBy::kShape);
    if (!direct) {
      CHECK_EQ(bench.Next(), std::string("b2"));
      CHECK(StateAt(bench, 0) == (Floats{2}));
      continue;
    }
    CHECK(StateAt(bench, 1) == Floats(3000, 0.0f));
    KeepState(&bench, "a2", {});
    CHECK_EQ(bench.Done().Next(), std::string("a3 -"));
    CHECK(StateAt(bench, 0).empty());
  }
}

TEST(sequence_state_is_charged_and_released) {
  // Room for three sequences of two values of 8 KiB.
  Budget budget(56 * kKiB);
  SequencePolicy policy = StatePolicy(SequencePolicy::Strategy::kDirect, 4, Floats(2048, 1.0f));
  {
    SequenceBench bench(policy, 1, &budget);
    bench.Sequence("a", 1, "S,E").Sequence("b", 2, "SE").Sequence("c", 3, "S,");
    CHECK(budget.used() >= 48 * kKiB);
    const Status refused = bench.Enqueue({"d1", {4, ""}, "S"});
    CHECK(refused.code() == Code::kUnavailable);
    CHECK(refused.reason() == Reason::kTooMuchInFlight);
    CHECK_EQ(bench.Next(), std::string("a1 b1 c1"));
    bench.Done();
    CHECK(bench.Enqueue({"d2", {4, ""}, "S"}).ok());
    // The state of c outgrows the limit: its waiting request fails, and c ends.
    CHECK_EQ(bench.Next(), std::string("a2 d2 c2"));
    bench.Add({{"c3", {3, ""}, ""}});
    KeepState(&bench, "c2", Floats(10000, 1.0f));
    bench.Done();
    CHECK_EQ(bench.Expire(0), std::string("||c3"));
    CHECK(!bench.Enqueue({"c4", {3, ""}, ""}).ok());
    CHECK(bench.Enqueue({"c5", {3, ""}, "S"}).ok());
    CHECK_EQ(bench.Next(), std::string("c5"));
  }
  CHECK_EQ(budget.used(), 0u);
}

TEST(sequence_state_in_the_same_buffer_has_one_size) {
  SequencePolicy policy = StatePolicy(SequencePolicy::Strategy::kOldest, 1);
  policy.states[0].same_buffer = true;
  SequenceBench bench(policy);
  bench.Sequence("a", 1, "S,,");
  CHECK_EQ(bench.Next(), std::string("a1"));
  KeepState(&bench, "a1", {3, 4});
  CHECK_EQ(bench.Done().Next(), std::string("a2"));
  CHECK(StateAt(bench, 0) == (Floats{3, 4}));
  KeepState(&bench, "a2", {3, 4, 5});
  bench.Done();
  CHECK_EQ(bench.Expire(0), std::string("||a3"));
}

}  // namespace tritonts::test
