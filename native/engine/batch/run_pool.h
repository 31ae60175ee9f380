// The idle runs of a version.
//
// The version's dispatcher creates the pool and closes it. Runs that are in use then keep it alive;
// the last one to return frees it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/batch/run.h"

namespace tritonts {

class RunPool {
 public:
  struct Close {
    void operator()(RunPool* pool) const { pool->CloseNow(); }
  };
  using Owner = std::unique_ptr<RunPool, Close>;

  // Throws std::bad_alloc.
  static Owner Make() { return Owner(new RunPool()); }

  RunPool(const RunPool&) = delete;
  RunPool& operator=(const RunPool&) = delete;

  // Takes an idle run, with one reference. Throws std::bad_alloc. Called under the version's lock.
  PooledRun* Take();
  // Returns an unreferenced run, under the version's lock. Most runs return this way, which needs
  // no atomic operation.
  void ReturnLocked(PooledRun* run);
  // Returns an unreferenced run, from any thread. The pool may be gone afterwards.
  void Return(PooledRun* run);

 private:
  // The maximum number of idle runs.
  static constexpr size_t kMostIdle = 64;

  RunPool() = default;
  ~RunPool();
  void CloseNow();

  // Guarded by the version's lock.
  PooledRun* idle_ = nullptr;  // a stack, linked by PooledRun::next
  size_t idle_count_ = 0;
  int64_t out_ = 0;  // runs taken minus runs returned with the lock

  // A stack of runs that were returned without the lock.
  std::atomic<PooledRun*> returned_{nullptr};
  // Minus the number of runs that were ever returned without the lock. Closing the pool adds
  // `out_`, which makes it the number of runs in use. So it reaches 0 only after the close.
  std::atomic<int64_t> balance_{0};
};

}  // namespace tritonts
