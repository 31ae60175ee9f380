// Responses as callers of TRITONSERVER_ServerInferAsync see them: outputs in memory of the caller's
// allocator, or an error.
//
// Ownership: the callee's, from the response callback until TRITONSERVER_InferenceResponseDelete,
// which gives the memory back to the allocator. A response shares the version that it is of.
// Threads: it does not change after it was made, so any number of threads may read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "c_api/model.h"
#include "c_api/response.h"
#include "engine/base/status.h"
#include "plugins/abi/types.h"
#include "plugins/allocator.h"
#include "plugins/trace.h"

struct TRITONSERVER_InferenceResponse {
 public:
  // Memory of the allocator for an output.
  struct Memory {
    void* data = nullptr;
    void* user = nullptr;  // what the allocator calls it
    size_t size = 0;
    TRITONSERVER_MemoryType type = TRITONSERVER_MEMORY_CPU;
    int64_t device = 0;
  };

  TRITONSERVER_InferenceResponse() = default;
  ~TRITONSERVER_InferenceResponse();
  TRITONSERVER_InferenceResponse(const TRITONSERVER_InferenceResponse&) = delete;
  TRITONSERVER_InferenceResponse& operator=(const TRITONSERVER_InferenceResponse&) = delete;

  // What it is a response to. Throws std::bad_alloc without effect.
  void Begin(const std::shared_ptr<tritonts::c_api::Model>& model, const std::string& id);
  // Takes the engine's response, and copies its outputs to memory of the allocator. Null: the
  // engine had no memory for it. What goes wrong is its error.
  void Take(tritonts_response* response, TRITONSERVER_ResponseAllocator* allocator,
            void* allocator_user, TRITONSERVER_InferenceTrace* trace) noexcept;

  const tritonts::Status& status() const { return status_; }
  const tritonts::c_api::Model& model() const { return *model_; }
  const std::string& id() const { return id_; }
  int64_t version() const;
  // Those of a response without an error.
  size_t output_count() const { return status_.ok() && raw_ ? raw_->outputs.size() : 0; }
  const tritonts_output& output(size_t index) const { return raw_->outputs[index].view; }
  const Memory& memory(size_t index) const { return memory_[index]; }
  std::span<const tritonts::RequestParameter> parameters() const;
  // The labels of an output's classes; null: it has none.
  const std::vector<std::string>* labels(size_t index) const;

 private:
  // Both throw std::bad_alloc.
  tritonts::Status CopyOutputs(void* allocator_user, TRITONSERVER_InferenceTrace* trace);
  tritonts::Status CopyOutput(const tritonts_output& output, void* allocator_user);

  std::shared_ptr<tritonts::c_api::Model> model_;
  std::string id_;
  tritonts::Status status_;
  tritonts_response* raw_ = nullptr;  // owned
  TRITONSERVER_ResponseAllocator* allocator_ = nullptr;
  std::vector<Memory> memory_;
};
