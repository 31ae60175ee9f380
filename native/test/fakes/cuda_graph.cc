// Graphs of the fake driver: the work of streams is recorded, and enqueued when the graph is
// launched. Work of several streams is kept in the order of the calls.
#include <memory>

#include "cuda_state.h"

using namespace tritonts::fakes;

namespace {

constexpr int kThreadLocal = 1;

}  // namespace

EXPORTED int cuStreamBeginCapture_v2(Stream* stream, int mode) {
  static Call call("cuStreamBeginCapture_v2");
  if (const int result = call.Begin()) return result;
  if (mode != kThreadLocal)
    Abort("cuStreamBeginCapture_v2", "with a mode that stops other threads");
  if (stream->capture) return kCaptureUnsupported;
  stream->capture = new Graph();
  stream->capture->streams.push_back(stream);
  SetCapturing(stream->capture);
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.graphs++;
  return 0;
}

EXPORTED int cuStreamEndCapture(Stream* stream, Graph** graph) {
  static Call call("cuStreamEndCapture");
  const int result = call.Begin();
  Graph* const recorded = stream->capture;
  *graph = nullptr;
  if (!recorded) return result != 0 ? result : kInvalidValue;
  SetCapturing(nullptr);
  bool joined = true;
  for (Stream* const one : recorded->streams) {
    if (one != stream && one->unjoined) joined = false;
    one->capture = nullptr;
    one->unjoined = false;
  }
  int ended = result;
  if (ended == 0 && recorded->invalid) ended = kCaptureInvalidated;
  if (ended == 0 && !joined) ended = kCaptureUnjoined;
  if (ended == 0) {
    *graph = recorded;
    return 0;
  }
  delete recorded;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.graphs--;
  return ended;
}

EXPORTED int cuGraphInstantiateWithFlags(Graph** work, Graph* graph, unsigned long long) {
  static Call call("cuGraphInstantiateWithFlags");
  if (const int result = call.Begin()) return result;
  *work = new Graph(*graph);
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.graphs++;
  return 0;
}

EXPORTED int cuGraphLaunch(Graph* work, Stream* stream) {
  static Call call("cuGraphLaunch");
  if (const int result = call.Begin()) return result;
  CheckContext("cuGraphLaunch", stream);
  for (const auto& [kind, one] : work->work) stream->Put(kind, one);
  return 0;
}

EXPORTED int cuGraphExecDestroy(Graph* work) {
  static Call call("cuGraphExecDestroy");
  const int result = call.Begin();
  if (!Ends(result)) return result;
  delete work;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.graphs--;
  return result;
}

EXPORTED int cuGraphDestroy(Graph* graph) {
  static Call call("cuGraphDestroy");
  const int result = call.Begin();
  if (!Ends(result)) return result;
  delete graph;
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  state.graphs--;
  return result;
}

// For other fakes: whether the stream's work is being recorded.
EXPORTED bool fakeCudaRecords(Stream* stream) {
  return stream->capture != nullptr;
}

// For tests: the number of graphs and instantiated graphs.
EXPORTED int fakeCudaGraphs() {
  State& state = Here();
  const std::lock_guard lock(state.mutex);
  return state.graphs;
}
