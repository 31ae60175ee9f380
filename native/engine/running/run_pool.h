// The runs of a version that are not under way.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "engine/running/run.h"

namespace tritonts {

// Always owned by shared pointers: a run that somebody holds keeps its pool, so that the last one
// that comes back when the version is gone frees it.
class RunPool : public std::enable_shared_from_this<RunPool> {
 public:
  RunPool() = default;
  ~RunPool();
  RunPool(const RunPool&) = delete;
  RunPool& operator=(const RunPool&) = delete;

  // An idle run, with one reference. Throws std::bad_alloc. One thread at a time.
  PooledRun* Take();
  // Nobody holds it any more.
  void Return(PooledRun* run);

 private:
  // So many are kept beyond those that are under way.
  static constexpr size_t kMostIdle = 64;

  std::atomic<PooledRun*> returned_{nullptr};  // a stack, linked by PooledRun::next
  std::atomic<size_t> idle_count_{0};
  PooledRun* idle_ = nullptr;  // likewise, of who takes
};

}  // namespace tritonts
