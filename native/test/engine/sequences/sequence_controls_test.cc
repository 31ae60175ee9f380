// The control tensors that a sequence batcher injects.
#include <cstring>
#include <string>
#include <vector>

#include "sequence_bench.h"

namespace tritonts::test {

namespace {

using ControlKind = SequenceControl::Kind;

template <typename T>
std::array<char, 4> ControlValue(T value) {
  std::array<char, 4> bytes = {};
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

// The bytes of input `index` in a slot.
std::string Injected(const SequenceBench& bench, uint32_t slot, uint32_t index) {
  for (const Overlay& overlay : bench.overlays) {
    if (overlay.slot != slot || overlay.tensor.index != index) continue;
    CHECK(overlay.tensor.of_one);
    const Buffer& chunk = overlay.tensor.first_chunks[0];
    return {static_cast<const char*>(chunk.data), chunk.size};
  }
  return "none";
}

template <typename T>
T InjectedAs(const SequenceBench& bench, uint32_t slot, uint32_t index) {
  T value{};
  const std::string bytes = Injected(bench, slot, index);
  CHECK_EQ(bytes.size(), sizeof(T));
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace

TEST(sequence_controls_have_the_values_of_the_configuration) {
  SequencePolicy policy = PolicyOf(SequencePolicy::Strategy::kDirect, 3);
  policy.controls = {
      {ControlKind::kReady, 4, DataType::kBool, {ControlValue(false), ControlValue(true)}},
      {ControlKind::kStart,
       1,
       DataType::kInt32,
       {ControlValue(int32_t{-5}), ControlValue(int32_t{9})}},
      {ControlKind::kEnd, 2, DataType::kFp32, {ControlValue(0.5f), ControlValue(2.5f)}},
      {ControlKind::kCorrelationId, 3, DataType::kUint64, {}},
  };
  SequenceBench bench(policy);
  bench.Sequence("a", 0x1122334455667788ull, "S,E").Sequence("b", 2, "SE").Sequence("c", 3, "S,");
  CHECK_EQ(bench.Next(), std::string("a1 b1 c1"));
  CHECK_EQ(bench.overlays.size(), 12u);
  CHECK_EQ(bench.overlays[0].tensor.shape.size(), 2u);
  const std::vector<int32_t> starts = {9, 9, 9};
  const std::vector<float> ends = {0.5f, 2.5f, 0.5f};
  for (uint32_t slot = 0; slot < 3; slot++) {
    CHECK_EQ(InjectedAs<int32_t>(bench, slot, 1), starts[slot]);
    CHECK_EQ(InjectedAs<float>(bench, slot, 2), ends[slot]);
    CHECK(InjectedAs<bool>(bench, slot, 4));
  }
  CHECK_EQ(InjectedAs<uint64_t>(bench, 0, 3), 0x1122334455667788ull);
  CHECK_EQ(bench.Done().Next(), std::string("a2 - c2"));
  CHECK_EQ(InjectedAs<int32_t>(bench, 0, 1), -5);
  CHECK_EQ(InjectedAs<float>(bench, 0, 2), 2.5f);
  // An empty slot: nothing is true, and there is no id.
  CHECK_EQ(InjectedAs<int32_t>(bench, 1, 1), -5);
  CHECK_EQ(InjectedAs<float>(bench, 1, 2), 0.5f);
  CHECK_EQ(InjectedAs<uint64_t>(bench, 1, 3), 0u);
  CHECK(!InjectedAs<bool>(bench, 1, 4));
  CHECK_EQ(InjectedAs<uint64_t>(bench, 2, 3), 3u);
  // A batch of one request is read in place, so all tensors are aligned.
  for (const Overlay& overlay : bench.overlays) {
    const auto at = reinterpret_cast<uintptr_t>(overlay.tensor.first_chunks[0].data);
    CHECK_EQ(at % (overlay.tensor.index == 3 ? 8 : 4), 0u);
  }
}

TEST(sequence_id_tensor_has_the_low_bytes_of_a_number_or_a_text) {
  SequencePolicy policy = PolicyOf(SequencePolicy::Strategy::kOldest, 2);
  policy.controls = {{ControlKind::kCorrelationId, 1, DataType::kInt32, {}}};
  {
    SequenceBench bench(policy);
    bench.Sequence("a", 0x1122334455667788ull, "S");
    CHECK_EQ(bench.Next(), std::string("a1"));
    CHECK_EQ(InjectedAs<int32_t>(bench, 0, 1), 0x55667788);
  }
  policy.controls[0].datatype = DataType::kBytes;
  policy.max_batch_size = 0;
  policy.strategy = SequencePolicy::Strategy::kDirect;
  SequenceBench bench(policy);
  CHECK(!bench.Enqueue({"n", {5, ""}, "S"}).ok());
  bench.Add({{"b", {0, "abc"}, "SE"}, {"c", {0, "abc"}, "S"}});
  CHECK_EQ(bench.Next(), std::string("b c"));
  CHECK_EQ(Injected(bench, 0, 1), std::string("\3\0\0\0abc", 7));
  CHECK_EQ(bench.overlays[0].tensor.shape.size(), 1u);
  bench.Done();
  bench.Add({{"d", {0, "abc"}, ""}});
  CHECK_EQ(bench.Next(), std::string("- d"));
  CHECK_EQ(Injected(bench, 0, 1), std::string("\0\0\0\0", 4));
}

}  // namespace tritonts::test
