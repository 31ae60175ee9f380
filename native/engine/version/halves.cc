// A batch that fails as a whole is run again in halves, so that one bad request does not fail the
// others.
//
//   [a b c d]  the backend responds with one error to all
//   [a b]      answered
//   [c d]      fails as a whole, too
//   [c]        answered
//   [d]        fails: this is the error of d
//
// The halves are runs of the same instance, which takes no other batch before they are done. Each
// half has fewer requests than the failed run, so n requests take at most 2n - 1 runs.
#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <utility>

#include "engine/base/exit.h"
#include "engine/version/dispatcher.h"
#include "engine/version/model_version.h"

namespace tritonts {

void Dispatcher::Halve(PooledRun* run, const std::shared_ptr<RunOwner>& owner) {
  batch_.Clear();
  std::vector<Request*>& requests = batch_.members;
  std::array<PooledRun*, 2> halves{};
  std::array<std::span<Request* const>, 2> parts;
  try {
    requests.reserve(run->size());
    run->ListOpen(&requests);
    const size_t first = (requests.size() + 1) / 2;
    parts = {std::span(requests).first(first), std::span(requests).subspan(first)};
    for (size_t i = 0; i < halves.size() && !parts[i].empty(); i++) {
      halves[i] = pool_->Take();
      halves[i]->MakeRoom(parts[i].size(), context_);
      if (!batch_inputs_) continue;
      BlockPool* const pool = &run->runner()->pool;
      Batch* const part = batch_inputs_->BatchOf(parts[i]);
      batch_inputs_->AddTo(part, pool);
      halves[i]->Inject(part, pool);
      batch_inputs_->Drop();
    }
  } catch (const std::bad_alloc&) {
    if (batch_inputs_) batch_inputs_->Drop();
    for (PooledRun* half : halves) {
      if (!half) continue;
      half->ClearInjected();
      half->Drop();
    }
    return;
  }
  run->Requeue(requests);
  PooledRun* behind = run;
  for (size_t i = 0; i < halves.size() && halves[i]; i++) {
    halves[i]->Assign(parts[i], ++batches_, context_, run->runner(), owner, behind);
    halves[i]->SetRepeated();
    inline_policy_.Classify(halves[i]);
    Enlist(halves[i]);
    behind = halves[i];
  }
  // This comes after Assign: the response order may not pass the run before its halves have places.
  run->ReleaseHoldsOf(requests);
  // The log's record goes to the last half, because the batch ends with it.
  if (behind != run) {
    behind->record = std::exchange(run->record, {});
    behind->record.started_ns = run->began_ns();
  }
  InstanceRunner* const runner = run->runner();
  for (size_t i = halves.size(); i-- > 0;) {
    if (!halves[i]) continue;
    halves[i]->next_half = std::exchange(runner->halves, halves[i]);
  }
  batch_.Clear();
}

bool Dispatcher::TakeHalf(InstanceRunner* runner, uint64_t now_ns) {
  PooledRun* const half = runner->halves;
  if (!half) return false;
  runner->halves = std::exchange(half->next_half, nullptr);
  runner->next = half;
  runner->assigned_ns = now_ns;
  return true;
}

void ModelVersion::Halve(PooledRun* run) {
  {
    std::lock_guard lock(mutex_);
    if (stop_ || terminated_ || warming() || Exiting()) return;
    dispatcher_->Halve(run, shared_from_this());
  }
  // If all of its requests are in the halves, the order may now pass the run.
  if (context_.order) context_.order->Go();
}

}  // namespace tritonts
