// One output of an instance: its memory before a run, and its value afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../common/split_outputs.h"
#include "byte_strings.h"
#include "engine/backend.h"
#include "model.h"
#include "session.h"

namespace tritonts::onnxruntime {

// Owned by the instance; only the thread that calls Execute may use it. It is kept between runs, so
// that its vectors stay allocated.
class RunOutput {
 public:
  // All arguments must outlive this object.
  RunOutput(const Session& session, const Plan& plan, uint32_t index, SplitOutputs* split)
      : session_(session),
        plan_(plan),
        output_(plan.outputs[index]),
        index_(index),
        split_(split) {}

  // Before a run: if the size is known, asks the run where to write the output.
  Status Bind(Run& run);
  // From now on the runtime allocates the output. Called after it has rejected the bound memory.
  void NeverBind();

  // The value that the runtime gets or sets; null: the runtime allocates it.
  OrtValue*& value() { return value_; }

  // After a run: declares the output. INTERNAL if its number of rows differs from the batch's.
  Status Declare(Run& run);
  // After the response: releases the value.
  void Release();

 private:
  size_t Rows(const Run& run) const { return plan_.batching ? run.total_batch_size() : 1; }
  // The shape without the batch dimension.
  std::span<const int64_t> Tail() const;
  Status DeclareStrings(Run& run);
  Status Copy(Run& run, const void* data, size_t size);

  const Session& session_;
  const Plan& plan_;
  const OutputPlan& output_;
  const uint32_t index_;
  SplitOutputs* const split_;
  bool bindable_ = true;

  // These belong to the current run.
  OrtValue* value_ = nullptr;
  bool bound_ = false;
  BlockRef block_;  // keeps the declared output alive
  std::vector<int64_t> shape_;
  SerialisedStrings strings_;
};

}  // namespace tritonts::onnxruntime
