// Runs batches of a model of trees.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
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
  StatusOr<Buffer> OutputOf(Run& run, uint32_t index, size_t rows, size_t width,
                            std::array<int64_t, 2>* shape) const;
  // Calls `task` with the memory and the rows of each task, on as many threads as are worth it.
  // `reserve` prepares memory for so many rows. Throws std::bad_alloc.
  template <typename Reserve, typename Task>
  void Split(const Rows& rows, size_t task_rows, double estimated_ns, const Reserve& reserve,
             const Task& task);
  size_t MostWorkers() const;

  const std::shared_ptr<const LoadedForest> loaded_;
  std::atomic<bool> terminated_{false};
  Gathered gathered_;
  // Of the outputs of the current run, which refers to them until it responds.
  std::array<int64_t, 2> shape_{};
  std::array<int64_t, 2> shap_shape_{};
  std::vector<Scratch> scratch_;  // by worker
};

}  // namespace tritonts::fil
