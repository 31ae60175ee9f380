// A version for tests whose batches have slots (slot_scheduler.h): a model of running sums.
#pragma once

#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "engine/batch/collector.h"
#include "engine/scheduling/gate.h"
#include "slot_scheduler.h"
#include "version_fixture.h"

namespace tritonts::test {

constexpr uint32_t kSlots = 4;

// x and the injected inputs; y and the kept output.
inline ModelIo SlotIo(bool ragged = false) {
  ModelIo io = FloatIo();
  TensorSpec ready{"ready", DataType::kFp32, {-1, 1}, false};
  TensorSpec state{"state", DataType::kFp32, {-1, 1}, false};
  TensorSpec ends{"ends", DataType::kInt32, {-1}, false};
  ready.internal = state.internal = ends.internal = ends.of_batch = true;
  io.inputs.push_back(ready);
  io.inputs.push_back(state);
  io.outputs.push_back(state);
  if (!ragged) return io;
  io.inputs[0].dims = {-1, -1};
  io.inputs[0].ragged = true;
  io.inputs.push_back(ends);
  io.batch_inputs = {
      {BatchInputSpec::Kind::kAccumulatedElementCountWithZero, 0, SlotStates::kEnds}};
  return io;
}

template <typename T = float>
std::vector<T> ValuesOf(const Buffer& buffer) {
  std::vector<T> values(buffer.size / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), buffer.data, buffer.size);
  return values;
}

// How the rows of a batch are answered.
enum class SlotAnswer { kTogether, kEach, kOneByOne };

// y is the sum of the slot's x plus its state, and also its next state.
class SumBench {
 public:
  explicit SumBench(SlotAnswer answer, Script script = {}, SlotOptions options = {},
                    std::shared_ptr<Gate> gate = nullptr) {
    if (!script.execute) {
      script.execute = [this, answer](uint32_t, Run& run) { Sum(run, answer); };
    }
    ragged_ = options.ragged;
    VersionConfig config = ConfigOf(SlotIo(ragged_), options.instances);
    config.gate = std::move(gate);
    config.scheduler = [this, options] {
      return std::make_unique<SlotScheduler>(kSlots, states, options);
    };
    bench.emplace(std::move(script), std::move(config));
  }

  // A request with one row of these elements.
  Request* Make(uint64_t sequence, const std::vector<float>& x) {
    Request* const request = bench->requests.Add(1);
    bench->requests.Input(request, 0, DataType::kFp32, {1, static_cast<int64_t>(x.size())},
                          BytesOf(x));
    request->header->priority = sequence;
    return request;
  }
  Request* Make(uint64_t sequence, float x) { return Make(sequence, std::vector<float>{x}); }
  // The output for request `number`.
  float Of(uint32_t number) {
    SeenResponse seen = bench->sink.Of(number);
    CHECK(seen.status.ok());
    // The kept output is in no response.
    CHECK_EQ(seen.outputs.size(), 1u);
    CHECK(seen.outputs.contains(0));
    float value = 0;
    std::memcpy(&value, seen.outputs[0].bytes.data(), sizeof(value));
    return value;
  }
  // Why the last batches were closed, in the order in which they ended.
  std::vector<ClosedBy> closed_by() {
    std::vector<ClosedBy> reasons;
    for (const BatchRecord& record : bench->version().batches().records) {
      reasons.push_back(record.closed_by);
    }
    return reasons;
  }

  void Sum(Run& run, SlotAnswer answer) {
    Gathered ready;
    Gathered state;
    CHECK(Gather(run, SlotStates::kReady, true, &ready).ok());
    CHECK(Gather(run, SlotStates::kState, true, &state).ok());
    const auto rows = static_cast<int64_t>(run.total_batch_size());
    CHECK(state.shape == (std::vector<int64_t>{rows, 1}));
    std::vector<float> sums = ragged_ ? RaggedSums(run) : OwnSums(run);
    const std::vector<float> before = ValuesOf(state.buffer);
    for (size_t i = 0; i < sums.size(); i++) sums[i] += before[i];
    {
      const std::lock_guard lock(mutex_);
      readies_.push_back(ValuesOf(ready.buffer));
    }
    const int64_t tail[] = {1};
    const int64_t shape[] = {1, 1};
    if (answer == SlotAnswer::kTogether) {
      for (const uint32_t index : {0u, SlotStates::kNextState}) {
        run.SetOutput(index, DataType::kFp32, tail, sums.data(), sums.size() * 4, nullptr);
      }
      return run.RespondAll(Status::Ok());
    }
    for (uint32_t i = 0; i < run.requests().size(); i++) {
      for (const uint32_t index : {0u, SlotStates::kNextState}) {
        run.SetRequestOutput(i, index, DataType::kFp32, shape, &sums[i], 4, nullptr);
      }
      if (answer == SlotAnswer::kOneByOne) run.Respond(i, Status::Ok());
    }
    if (answer == SlotAnswer::kEach) run.RespondAll(Status::Ok());
  }

  // Which slots of each batch had a request.
  std::vector<std::vector<float>> readies() {
    const std::lock_guard lock(mutex_);
    return readies_;
  }

  const std::shared_ptr<SlotStates> states = std::make_shared<SlotStates>(kSlots);
  std::optional<VersionBench> bench;

 private:
  static std::vector<float> OwnSums(Run& run) {
    Gathered x;
    CHECK(Gather(run, 0, true, &x).ok());
    return ValuesOf(x.buffer);
  }
  static std::vector<float> RaggedSums(Run& run) {
    Gathered x;
    Gathered ends;
    std::vector<int64_t> counts;
    CHECK(GatherRagged(run, 0, &x, &counts).ok());
    CHECK(Gather(run, SlotStates::kEnds, true, &ends).ok());
    CHECK(!ends.copied);
    const std::vector<float> values = ValuesOf(x.buffer);
    const std::vector<int32_t> at = ValuesOf<int32_t>(ends.buffer);
    CHECK_EQ(at.size(), run.requests().size() + 1);
    CHECK_EQ(values.size(), static_cast<size_t>(at.back()));
    std::vector<float> sums;
    for (size_t i = 0; i + 1 < at.size(); i++) {
      CHECK_EQ(counts[i], int64_t{at[i + 1]} - at[i]);
      sums.push_back(std::accumulate(values.begin() + at[i], values.begin() + at[i + 1], 0.0f));
    }
    return sums;
  }

  bool ragged_ = false;
  std::mutex mutex_;  // guards readies_
  std::vector<std::vector<float>> readies_;
};

}  // namespace tritonts::test
