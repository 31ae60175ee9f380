// The idle runs of a version.
//
// The version's dispatcher makes the pool and closes it. Runs that are out then keep it alive: the
// last of them to return frees it.
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

  // Takes an idle run, with one reference. Throws std::bad_alloc. With the version's lock.
  PooledRun* Take();
  // Returns a run that nobody holds any more. With the version's lock: most runs end there, and
  // this needs no atomic operation.
  void ReturnLocked(PooledRun* run);
  // The same, from any thread. The pool may be gone afterwards.
  void Return(PooledRun* run);

 private:
  // How many idle runs are kept.
  static constexpr size_t kMostIdle = 64;

  RunPool() = default;
  ~RunPool();
  void CloseNow();

  // With the version's lock.
  PooledRun* idle_ = nullptr;  // a stack, linked by PooledRun::next
  size_t idle_count_ = 0;
  int64_t out_ = 0;  // runs that were taken and not returned with the lock

  // Runs that were returned without the lock: a stack, too.
  std::atomic<PooledRun*> returned_{nullptr};
  // Minus the number of runs that were ever returned without the lock; from the close on, how many
  // are out. So it reaches 0 only when the pool is closed.
  std::atomic<int64_t> balance_{0};
};

}  // namespace tritonts
