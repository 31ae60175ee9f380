// Asynchronous instances whose runs are ended by the test.
#pragma once

#include "version_fixture.h"

namespace tritonts::test {

// The runs that an asynchronous instance received. The test responds to them.
class Handed {
 public:
  Script Of(bool frees_at_once) {
    Script script;
    script.asynchronous = true;
    script.execute = [this, frees_at_once](uint32_t, Run& run) {
      {
        std::lock_guard lock(mutex_);
        runs_.push_back(&run);
        threads_.push_back(std::this_thread::get_id());
      }
      if (frees_at_once) run.InstanceFree();
    };
    return script;
  }
  size_t count() {
    std::lock_guard lock(mutex_);
    return runs_.size();
  }
  Run& run(size_t number) {
    std::lock_guard lock(mutex_);
    return *runs_[number];
  }
  std::thread::id thread(size_t number) {
    std::lock_guard lock(mutex_);
    return threads_[number];
  }

 private:
  std::mutex mutex_;  // guards both
  std::vector<Run*> runs_;
  std::vector<std::thread::id> threads_;
};

}  // namespace tritonts::test
