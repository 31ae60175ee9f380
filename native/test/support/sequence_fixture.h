// A version with a sequence batcher and a scripted backend.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "handed_runs.h"
#include "sequence_bench.h"
#include "version_fixture.h"

namespace tritonts::test {

constexpr auto kDirect = SequencePolicy::Strategy::kDirect;
constexpr auto kOldest = SequencePolicy::Strategy::kOldest;

// Input 1, if the model has control tensors: READY.
constexpr uint32_t kReadyInput = 1;
// Input 2: START.
constexpr uint32_t kStartInput = 2;

// A model of x and y, as FloatIo.
inline VersionConfig SequencesOf(SequencePolicy policy, uint32_t instances = 1) {
  VersionConfig config = ConfigOf(FloatIo(policy.max_batch_size), instances);
  config.sequences = std::move(policy);
  return config;
}

// The same with control tensors.
inline VersionConfig ControlledSequencesOf(SequencePolicy policy, uint32_t instances = 1) {
  SequenceControl ready{SequenceControl::Kind::kReady, kReadyInput, DataType::kFp32, {}};
  const float one = 1;
  std::memcpy(ready.values[1].data(), &one, sizeof(one));
  SequenceControl start = ready;
  start.kind = SequenceControl::Kind::kStart;
  start.input = kStartInput;
  policy.controls = {ready, start};
  VersionConfig config = SequencesOf(std::move(policy), instances);
  for (const char* name : {"ready", "start"}) {
    config.io.inputs.push_back({name, DataType::kFp32, {-1, 1}, false});
    config.io.inputs.back().internal = true;
  }
  return config;
}

class SequenceVersion : public VersionBench {
 public:
  SequenceVersion(Script script, VersionConfig config)
      : VersionBench(std::move(script), std::move(config)) {}

  // A request of sequence `number` (0: of none), with the flags "S" and "E".
  Request* Make(uint64_t number, const std::string& flags, uint64_t timeout_ns = 0) {
    Request* const request = requests.Floats({static_cast<float>(number)});
    request->header->AddMarks();
    SequenceMark& mark = request->mark();
    mark.id.number = number;
    mark.start = flags.find('S') != std::string::npos;
    mark.end = flags.find('E') != std::string::npos;
    request->header->timeout_ns = timeout_ns;
    return request;
  }
  Request* Send(uint64_t number, const std::string& flags, uint64_t timeout_ns = 0) {
    Request* const request = Make(number, flags, timeout_ns);
    Submit({request});
    return request;
  }
  Code CodeOf(uint32_t number) { return sink.Of(number).status.code(); }
  // Whether these responses, in any order, are of this code.
  void CheckCodes(std::initializer_list<uint32_t> numbers, Code code) {
    for (const uint32_t number : numbers) CHECK_EQ(CodeOf(number), code);
  }
  // Whether no sequence is left.
  bool Empty() { return counts().live == 0 && counts().backlog == 0; }
  SequenceCounts counts() { return version().metrics({}).sequences; }
};

}  // namespace tritonts::test
