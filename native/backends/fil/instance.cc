#include "instance.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <string>

#include "row_pool.h"

namespace tritonts::fil {

namespace {

// To wake a thread takes up to 60 µs. So smaller work stays on the calling thread. This is also
// more than the budget of a JS thread, which therefore does not wait for others.
constexpr double kWorthThreadsNs = 200'000;

// About the longest time of a task. A run that is asked to end does so after its present tasks.
constexpr double kMostTaskNs = 10'000'000;

// SHAP values take long, so a few rows are a task.
constexpr size_t kExplainedRows = 4;

bool Wanted(const Run& run, uint32_t output) {
  return output != LoadedForest::kNone && run.Needs(output);
}

}  // namespace

void ForestInstance::Execute(Run& run) {
  Status status = RunBatch(run);
  if (!status.ok()) status = status.With("model '" + loaded_->model + "': " + status.message());
  run.RespondAll(status);
  gathered_.buffer = Buffer();
}

Status ForestInstance::RunBatch(Run& run) {
  Rows rows;
  Status status = GatherRows(run, &rows);
  if (!status.ok()) return status;
  run.MarkInputsReady();
  if (Wanted(run, loaded_->output)) status = Answer(run, rows);
  if (status.ok() && Wanted(run, loaded_->shap_output)) status = Explain(run, rows);
  run.MarkComputed();
  if (status.ok() && terminated_) return Status::Cancelled("the run was asked to end");
  return status;
}

Status ForestInstance::GatherRows(Run& run, Rows* rows) {
  Status status = Gather(run, 0, loaded_->batching, &gathered_);
  if (!status.ok()) return status.With("input 'input__0': " + status.message());
  const size_t width = loaded_->compiled.features;
  const size_t row_bytes = width * sizeof(float);
  if (!gathered_.present) return Status::InvalidArg("input 'input__0' is missing");
  Buffer& buffer = gathered_.buffer;
  if (buffer.size % row_bytes != 0) {
    return Status::InvalidArg("input 'input__0' has " + std::to_string(buffer.size) +
                              " bytes: expected a multiple of " + std::to_string(row_bytes) +
                              ", for " + std::to_string(width) + " features a row");
  }
  // Other processes may change shared memory, and its values are read more than once.
  const bool usable = buffer.kind != MemoryKind::kShared &&
                      reinterpret_cast<uintptr_t>(buffer.data) % alignof(float) == 0;
  if (buffer.size > 0 && !usable) {
    BlockRef copy = run.pool().Acquire(buffer.size);
    if (!copy) {
      return Status::Unavailable(
          Reason::kNoMemory, "no memory for an input of " + std::to_string(buffer.size) + " bytes");
    }
    std::memcpy(copy->data(), buffer.data, buffer.size);
    buffer = {copy->data(), buffer.size, copy->kind(), copy->device(), copy};
  }
  *rows = {static_cast<const float*>(buffer.data), width, buffer.size / row_bytes};
  return Status::Ok();
}

StatusOr<Buffer> ForestInstance::OutputOf(Run& run, uint32_t index, size_t rows, size_t width,
                                          std::array<int64_t, 2>* shape) const {
  *shape = {static_cast<int64_t>(rows), static_cast<int64_t>(width)};
  return run.Output(Run::kAll, index, DataType::kFp32,
                    std::span<const int64_t>(*shape).subspan(loaded_->batching ? 1 : 0));
}

size_t ForestInstance::MostWorkers() const {
  const size_t cores = RowPool::OfProcess().most_workers();
  const auto wanted = static_cast<size_t>(loaded_->settings.threads);
  return wanted == 0 ? cores : std::min(wanted, cores);
}

template <typename Reserve, typename Task>
void ForestInstance::Split(const Rows& rows, size_t task_rows, double estimated_ns,
                           const Reserve& reserve, const Task& task) {
  if (rows.count == 0) return;
  const double most_rows = kMostTaskNs / (estimated_ns / static_cast<double>(rows.count));
  if (most_rows < static_cast<double>(task_rows)) {
    task_rows =
        std::max<size_t>(static_cast<size_t>(most_rows), std::min<size_t>(task_rows, kBlockRows));
  }
  size_t workers = estimated_ns < kWorthThreadsNs ? 1 : MostWorkers();
  if (workers > 1) {
    // Several tasks for each worker, because workers may begin late.
    const size_t fair = (rows.count + workers * 4 - 1) / (workers * 4);
    const size_t blocks = (fair + kBlockRows - 1) / kBlockRows;
    task_rows = std::min(task_rows, blocks * kBlockRows);
  }
  const size_t tasks = (rows.count + task_rows - 1) / task_rows;
  workers = std::min(workers, tasks);
  if (scratch_.size() < workers) scratch_.resize(workers);
  for (size_t i = 0; i < workers; i++) {
    try {
      reserve(&scratch_[i], std::min(task_rows, rows.count));
    } catch (const std::bad_alloc&) {
      if (i == 0) throw;
      // The others have memory.
      workers = i;
    }
  }
  const auto run = [&](size_t worker, size_t number) {
    const size_t first = number * task_rows;
    task(&scratch_[worker], first,
         Rows{rows.row(first), rows.width, std::min(task_rows, rows.count - first)});
  };
  if (workers == 1) {
    for (size_t i = 0; i < tasks; i++) run(0, i);
  } else {
    RowPool::OfProcess().Run(tasks, workers, run);
  }
}

Status ForestInstance::Answer(Run& run, const Rows& rows) {
  const size_t width = loaded_->rule.width(loaded_->compiled);
  auto place = OutputOf(run, loaded_->output, rows.count, width, &shape_);
  if (!place.ok()) return place.status();
  auto* const output = static_cast<float*>(place.value().data);
  const Evaluator& evaluator = *loaded_->evaluator;
  Split(
      rows, evaluator.chunk_rows(), evaluator.EstimatedNs(rows.count),
      [&](Scratch* scratch, size_t most) { scratch->Reserve(loaded_->compiled, most); },
      [&](Scratch* scratch, size_t first, const Rows& part) {
        if (terminated_) return;
        evaluator.Evaluate(part, loaded_->rule, scratch, output + first * width);
      });
  return Status::Ok();
}

Status ForestInstance::Explain(Run& run, const Rows& rows) {
  const TreeShap& shap = *loaded_->shap;
  const size_t width = shap.width();
  auto place = OutputOf(run, loaded_->shap_output, rows.count, width, &shap_shape_);
  if (!place.ok()) return place.status();
  auto* const output = static_cast<float*>(place.value().data);
  Split(
      rows, kExplainedRows, shap.EstimatedNs(rows.count),
      [&](Scratch* scratch, size_t) { scratch->explained.resize(width); },
      [&](Scratch* scratch, size_t first, const Rows& part) {
        if (terminated_) return;
        shap.Explain(part, scratch->explained.data(), output + first * width);
      });
  return Status::Ok();
}

}  // namespace tritonts::fil
