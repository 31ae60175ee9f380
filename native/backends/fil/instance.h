// Runs batches of a model of trees.
#pragma once

#include <memory>
#include <vector>

#include "engine/backend.h"
#include "engine/batch/collector.h"
#include "model.h"

namespace tritonts::fil {

class ForestInstance final : public Instance {
 public:
  explicit ForestInstance(std::shared_ptr<const LoadedForest> loaded)
      : loaded_(std::move(loaded)) {}

  void Execute(Run& run) override;
  void Terminate() override { terminated_ = true; }

 private:
  Status RunBatch(Run& run);
  // Gathers the rows of the batch.
  Status GatherRows(Run& run, Rows* rows);
  Status Answer(Run& run, const Rows& rows);
  Status Explain(Run& run, const Rows& rows);
  // Declares an output of `width` values a row, and returns where to write it.
  StatusOr<Buffer> OutputOf(Run& run, uint32_t index, size_t rows, size_t width) const;
  // Calls `task` with the worker and the rows of each task, on as many threads as are worth it.
  template <typename Task>
  void Split(const Rows& rows, size_t task_rows, double estimated_ns, const Task& task);
  size_t MostWorkers() const;

  const std::shared_ptr<const LoadedForest> loaded_;
  std::atomic<bool> terminated_{false};
  Gathered gathered_;
  std::vector<Scratch> scratch_;  // by worker
};

}  // namespace tritonts::fil
