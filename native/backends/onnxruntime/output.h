// One output of an instance: memory for it before a run, and what came out of it after.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "byte_strings.h"
#include "engine/backend.h"
#include "model.h"
#include "session.h"

namespace tritonts::onnxruntime {

// The instance's thread only. Kept from run to run, so that its vectors stay allocated.
class RunOutput {
 public:
  // Both outlive this object.
  RunOutput(const Session& session, const Plan& plan, uint32_t index)
      : session_(session), plan_(plan), output_(plan.outputs[index]), index_(index) {}

  // Before a run: asks where it is to be written, where the size is known.
  Status Bind(Run& run);
  // When the runtime refused that memory: lets it allocate from now on.
  void NeverBind();

  // What the runtime is given, and puts here: null where it is to allocate.
  OrtValue*& value() { return value_; }

  // After a run: declares what came out. INTERNAL when it has other rows than the batch.
  Status Declare(Run& run);
  // After the answer.
  void Release();

 private:
  size_t Rows(const Run& run) const { return plan_.batching ? run.total_batch_size() : 1; }
  // The shape as a response gives it: without the batch dimension where there is one.
  std::span<const int64_t> Tail() const;
  Status CheckRows(const Run& run) const;
  Status DeclareStrings(Run& run);
  Status DeclareCopy(Run& run, const void* data, size_t size);

  const Session& session_;
  const Plan& plan_;
  const OutputPlan& output_;
  const uint32_t index_;
  bool bindable_ = true;

  // Of the current run.
  OrtValue* value_ = nullptr;
  bool bound_ = false;
  BlockRef block_;  // keeps what was declared
  std::vector<int64_t> shape_;
  SerialisedStrings strings_;
};

}  // namespace tritonts::onnxruntime
