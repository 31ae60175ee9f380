// A batch run as an instance's thread runs it, without an instance.
#pragma once

#include "batch.h"
#include "engine_fixture.h"

namespace tritonts::test {

struct BatchBench {
  explicit BatchBench(bool batching = true) : run("m", batching, &pool) {}

  // Gives the run its requests, as a version does when a scheduler chose them.
  void Begin(const std::vector<Request*>& chosen) {
    std::vector<Schedulable*> schedulables;
    for (Request* request : chosen) {
      request->set_state(Request::State::kQueued);
      schedulables.push_back(request);
    }
    Decision decision;
    decision.take = schedulables;
    run.Assign(decision, ++batches);
    run.Begin(NowNs());
  }
  // Ends the run; what it adds to the statistics of all runs.
  const Statistics& End() {
    run.End();
    run.Account(&statistics);
    return statistics;
  }

  BlockPool pool{size_t{1} << 20};
  RecordingSink sink;
  Requests requests{&sink};
  BatchRun run;
  Statistics statistics;
  uint64_t batches = 0;
};

}  // namespace tritonts::test
