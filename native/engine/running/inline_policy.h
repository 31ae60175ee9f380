// Decides whether a batch runs on the JS thread that submitted it (docs/architecture.md, "On the JS
// thread").
//
// It does if its instance is on the CPU, and batches of its shapes and size are known to end within
// what is left of the tick's budget. The version's dispatcher owns the policy; the version's lock
// guards it.
#pragma once

#include <cstdint>

#include "engine/running/inline_tick.h"
#include "engine/running/instance.h"
#include "engine/running/run.h"
#include "engine/running/run_times.h"
#include "engine/running/wake_list.h"

namespace tritonts {

class InlinePolicy {
 public:
  // With a `budget_ns` of 0 nothing runs on a JS thread. `has_strings`: whether an input is BYTES.
  explicit InlinePolicy(uint64_t budget_ns = 0, bool has_strings = false)
      : times_(budget_ns), has_strings_(has_strings) {}

  // Computes the class of the batch now, because its requests must not be looked at later.
  void Classify(PooledRun* run) const {
    if (!times_.enabled()) return;
    const auto requests = std::as_const(*run).requests();
    run->batch_class = RunTimes::Class(requests, run->total_batch_size(), has_strings_);
  }
  // Whether `run` may run here. Not while the instance's own thread is in Execute: it may have
  // called InstanceFree there.
  bool MayRun(const InstanceRunner& runner, const PooledRun& run, const InlineTick& tick) const {
    return runner.memory == MemoryKind::kHost && !runner.executing &&
           times_.Fits(run.batch_class, tick.spent_ns);
  }
  // If the first batch of `wake` may run here, takes it from the thread that would be woken for it,
  // and returns its instance. Else returns null.
  InstanceRunner* Choose(const InlineTick& tick, WakeList* wake) const {
    InstanceRunner* runner = wake->front();
    if (!runner || !MayRun(*runner, *runner->next, tick)) return nullptr;
    wake->DropFront();
    return runner;
  }
  // Says whether batches belong to a warm-up.
  void SetWarming(bool warming) { warming_ = warming; }
  // Notes how long a batch of the class took. With a tick, the batch ran on the tick's thread.
  // `failed`: it answered nobody. Such a batch mostly fails early: that it was short says nothing
  // of one that goes through.
  void Note(uint64_t batch_class, uint64_t ns, bool failed, InlineTick* tick) {
    if (tick) tick->spent_ns += ns;
    if (failed && times_.IsShort(ns)) return;
    if (warming_) return times_.NoteWarm(batch_class, ns);
    if (!tick) return times_.Note(batch_class, ns);
    times_.NoteHere(batch_class, ns, tick->watch);
  }

 private:
  RunTimes times_;
  bool has_strings_;
  bool warming_ = false;
};

}  // namespace tritonts
