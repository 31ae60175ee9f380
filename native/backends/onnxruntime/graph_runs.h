// The options of an instance's runs on a GPU: one object per CUDA graph, and one for runs without a
// graph. The runtime captures a graph in the first runs with its number, and launches it in later
// runs, whatever tensors are bound then.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "session.h"

namespace tritonts::onnxruntime {

class GraphRuns {
 public:
  // Each graph occupies an unknown amount of device memory.
  static constexpr size_t kMostGraphs = 64;

  explicit GraphRuns(Session& session) : session_(session) {}
  ~GraphRuns();
  GraphRuns(const GraphRuns&) = delete;
  GraphRuns& operator=(const GraphRuns&) = delete;

  // Creates the options of runs without a graph. `asynchronous`: do not wait for the runs.
  Status Prepare(bool asynchronous);
  // The options of runs without a graph.
  const OrtRunOptions* plain() const { return plain_; }
  // The options of the graph for tensors of these shapes at these addresses. Once kMostGraphs
  // exist, returns those of runs without a graph.
  StatusOr<const OrtRunOptions*> For(const std::vector<int64_t>& key);
  // Interrupts present and future runs. Thread-safe.
  void Terminate();
  // Whether Terminate was called. A run that fails afterwards was interrupted, whatever its error
  // says.
  bool terminated() const { return terminated_; }

 private:
  StatusOr<OrtRunOptions*> Make(const char* graph);

  Session& session_;
  bool asynchronous_ = false;
  OrtRunOptions* plain_ = nullptr;
  std::map<std::vector<int64_t>, OrtRunOptions*> by_key_;
  std::mutex mutex_;  // guards all_
  std::vector<OrtRunOptions*> all_;
  // Set with the lock held, so that options created later are terminated, too.
  std::atomic<bool> terminated_{false};
};

}  // namespace tritonts::onnxruntime
