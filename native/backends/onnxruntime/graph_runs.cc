#include "graph_runs.h"

#include "instance.h"

namespace tritonts::onnxruntime {

GraphRuns::~GraphRuns() {
  for (OrtRunOptions* const options : all_) session_.table().Call(kReleaseRunOptions, options);
}

Status GraphRuns::Prepare(bool asynchronous) {
  asynchronous_ = asynchronous;
  auto made = Make(session_.settings().cuda_graphs() ? kNoGraph : nullptr);
  if (made.ok()) plain_ = made.value();
  return made.status();
}

StatusOr<OrtRunOptions*> GraphRuns::Make(const char* graph) {
  const Library& library = session_.library();
  const Table& api = session_.table();
  OrtRunOptions* options = nullptr;
  Status status = library.Take(api.Call(kCreateRunOptions, &options));
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  all_.push_back(options);
  const auto set = [&](auto... call) {
    if (status.ok()) status = library.Take(api.Call(call...));
  };
  set(kSetRunLogSeverityLevel, options, kLogFatal);
  for (const auto& [key, value] : session_.settings().run_config)
    set(kAddRunConfigEntry, options, key.c_str(), value.c_str());
  if (asynchronous_)
    set(kAddRunConfigEntry, options, "disable_synchronize_execution_providers", "1");
  if (graph) set(kAddRunConfigEntry, options, kGraphId, graph);
  if (terminated_) set(kSetTerminate, options);
  if (!status.ok()) return status;
  return options;
}

StatusOr<const OrtRunOptions*> GraphRuns::For(const std::vector<int64_t>& key) {
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) return static_cast<const OrtRunOptions*>(known->second);
  if (by_key_.size() == kMostGraphs) return plain();
  auto made = Make(std::to_string(session_.place()->NewGraph()).c_str());
  if (!made.ok()) return made.status();
  by_key_.emplace(key, made.value());
  return static_cast<const OrtRunOptions*>(made.value());
}

void GraphRuns::Terminate() {
  const std::lock_guard lock(mutex_);
  terminated_ = true;
  // This fails only without memory, and has no caller to report to.
  for (OrtRunOptions* const options : all_)
    (void)session_.library().Take(session_.table().Call(kSetTerminate, options));
}

}  // namespace tritonts::onnxruntime
