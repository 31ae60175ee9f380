// Whether a batch runs on the JS thread that submitted it (docs/architecture.md, "On the JS
// thread").
//
// It does where its instance is on the CPU, and batches of its shapes and size are known to end
// within what is left of the tick's budget. Guarded by the version's lock.
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
  // `budget_ns` 0: nothing ever does. `has_strings`: whether inputs are BYTES.
  explicit InlinePolicy(uint64_t budget_ns = 0, bool has_strings = false)
      : times_(budget_ns), has_strings_(has_strings) {}

  // Remembers what class the batch is of; its requests are not looked at later.
  void Classify(PooledRun* run) const {
    if (!times_.enabled()) return;
    const auto requests = std::as_const(*run).requests();
    run->batch_class = RunTimes::Class(requests, run->total_batch_size(), has_strings_);
  }
  // Not while the instance's own thread is in Execute, which may have said InstanceFree there.
  bool MayRun(const InstanceRunner& runner, const PooledRun& run, const InlineTick& tick) const {
    return runner.memory == MemoryKind::kHost && !runner.executing &&
           times_.Fits(run.batch_class, tick.spent_ns);
  }
  // Takes the first batch back from the thread that is to be woken for it, where it may run here;
  // null where it may not.
  InstanceRunner* Choose(const InlineTick& tick, WakeList* wake) const {
    InstanceRunner* runner = wake->front();
    if (!runner || !MayRun(*runner, *runner->next, tick)) return nullptr;
    wake->DropFront();
    return runner;
  }
  // How long a batch of the class took; with a tick, on its thread, whose time that was.
  void Note(uint64_t batch_class, uint64_t ns, InlineTick* tick) {
    if (!tick) return times_.Note(batch_class, ns);
    times_.NoteHere(batch_class, ns, tick->watch);
    tick->spent_ns += ns;
  }

 private:
  RunTimes times_;
  bool has_strings_;
};

}  // namespace tritonts
