// The options of an instance's runs on a GPU: one for each CUDA graph, and one for runs without.
// The runtime captures a graph in the first runs that name its number, and launches it in later
// ones, whatever tensors are bound then.
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
  // Each graph holds memory on the device, and nothing says how much.
  static constexpr size_t kMostGraphs = 64;

  explicit GraphRuns(Session& session) : session_(session) {}
  ~GraphRuns();
  GraphRuns(const GraphRuns&) = delete;
  GraphRuns& operator=(const GraphRuns&) = delete;

  // Makes the options of runs without a graph. `asynchronous`: the runs are not waited for.
  Status Prepare(bool asynchronous);
  // Those without a graph.
  const OrtRunOptions* plain() const { return plain_; }
  // Those of the graph for tensors of these shapes at these addresses. If there are enough graphs,
  // they are those of a run without one.
  StatusOr<const OrtRunOptions*> For(const std::vector<int64_t>& key);
  // Has runs end soon, and later ones at once. Any thread may call it.
  void Terminate();
  // Whether that was called: a run that fails was interrupted, whatever its error says.
  bool terminated() const { return terminated_; }

 private:
  StatusOr<OrtRunOptions*> Make(const char* graph);

  Session& session_;
  bool asynchronous_ = false;
  OrtRunOptions* plain_ = nullptr;
  std::map<std::vector<int64_t>, OrtRunOptions*> by_key_;
  std::mutex mutex_;  // guards all_
  std::vector<OrtRunOptions*> all_;
  // Set with the lock, so that options made later are told, too.
  std::atomic<bool> terminated_{false};
};

}  // namespace tritonts::onnxruntime
