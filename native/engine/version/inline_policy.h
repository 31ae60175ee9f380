// Decides whether a batch runs on the thread that submitted it (inline_time.h).
//
// It does if its instance is on the CPU, and if batches of its shapes and size are known to end
// within the rest of the budget, and if the thread has enough stack left. An instance that may
// leave requests open must have proven that it does not wait, either (conduct.h). The version's
// dispatcher owns the policy. The version's lock guards it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/batch/instance.h"
#include "engine/batch/run.h"
#include "engine/version/conduct.h"
#include "engine/version/inline_time.h"
#include "engine/version/run_times.h"
#include "engine/version/wake_list.h"
#include "platform/stack.h"

namespace tritonts {

class InlinePolicy {
 public:
  // The stack that a thread must have left for a batch of another thread. All runtimes run with
  // 512 KiB on macOS, where that is the whole stack of a thread by default.
  static constexpr size_t kStackBytes = size_t{512} << 10;
  // The same for code that may leave requests open. It is foreign, and nothing says what it needs:
  // on its own thread it has 8 MiB (platform/thread.h), as in other servers. Node's main thread
  // has 8 MiB, too, of which JavaScript can use 1 MiB.
  static constexpr size_t kForeignStackBytes = size_t{7} << 20;

  // With a `budget_ns` of 0 no batch runs on a JS thread. `guest_ns`: the budget for guests on
  // instances' threads; 0: there are none. `by_bytes`: as in
  // RunTimes::Class.
  explicit InlinePolicy(uint64_t budget_ns = 0, bool by_bytes = false, uint64_t guest_ns = 0)
      : times_(budget_ns), guest_ns_(guest_ns), by_bytes_(by_bytes) {}

  // Called when an instance's thread submits requests. Times for guests are kept from the first
  // call on, because most models never have guests.
  void ExpectGuests() {
    if (guest_ns_ > 0) guest_times_ = RunTimes(std::exchange(guest_ns_, 0));
  }

  // Computes the class of the batch now, because its requests must not be looked at later.
  void Classify(PooledRun* run) const {
    if (!times_.enabled() && !guest_times_.enabled()) return;
    const auto requests = std::as_const(*run).requests();
    run->batch_class = RunTimes::Class(requests, run->total_batch_size(), by_bytes_);
  }
  // Whether `run` may run on the calling thread. False while the instance's own thread is in
  // Execute, where it may have called InstanceFree.
  bool MayRun(const InstanceRunner& runner, const PooledRun& run,
              const InlineTime& inline_time) const {
    return runner.memory == MemoryKind::kHost && !runner.executing &&
           (!runner.leaves_open || conduct_.proven()) &&
           TimesFor(inline_time).Fits(run.batch_class, inline_time.spent_ns) &&
           platform::StackLeft() >= (runner.leaves_open ? kForeignStackBytes : kStackBytes);
  }
  // If the first batch of `wake` may run on the calling thread, removes its instance from `wake`
  // and returns the instance. Otherwise returns null.
  InstanceRunner* Choose(const InlineTime& inline_time, WakeList* wake) const {
    InstanceRunner* runner = wake->front();
    if (!runner || !MayRun(*runner, *runner->next, inline_time)) return nullptr;
    wake->DropFront();
    return runner;
  }
  // Notes the end of a batch of an instance that may leave requests open.
  void NoteConduct(bool waited) { conduct_.Note(waited); }
  // Sets whether batches belong to a warm-up.
  void SetWarming(bool warming) { warming_ = warming; }
  // Notes how long a batch of the class took. With `inline_time`, the batch ran on its
  // thread. `failed`: the batch gave no response except errors. Such a batch mostly fails early, so
  // a short time says nothing about a batch that succeeds.
  void Note(uint64_t batch_class, uint64_t ns, bool failed, InlineTime* inline_time) {
    if (inline_time) inline_time->spent_ns += ns;
    Note(&times_, batch_class, ns, failed,
         inline_time && !inline_time->of_instance ? inline_time : nullptr);
    Note(&guest_times_, batch_class, ns, failed,
         inline_time && inline_time->of_instance ? inline_time : nullptr);
  }

 private:
  const RunTimes& TimesFor(const InlineTime& inline_time) const {
    return inline_time.of_instance ? guest_times_ : times_;
  }
  void Note(RunTimes* times, uint64_t batch_class, uint64_t ns, bool failed,
            const InlineTime* inline_time) const {
    if (!times->enabled() || (failed && times->IsShort(ns))) return;
    if (warming_) return times->NoteWarm(batch_class, ns);
    if (!inline_time) return times->Note(batch_class, ns);
    times->NoteHere(batch_class, ns, inline_time->watch);
  }

  RunTimes times_;
  RunTimes guest_times_;
  Conduct conduct_;    // of instances that may leave requests open
  uint64_t guest_ns_;  // 0: guest_times_ has the budget, or there are no guests
  bool by_bytes_;
  bool warming_ = false;
};

}  // namespace tritonts
