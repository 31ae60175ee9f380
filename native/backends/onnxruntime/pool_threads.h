// The threads that sessions may have of their own although there is a pool that all share. Each
// such session has threads for all cores, which sleep between its runs. So their number is limited
// for the process: with many models, or many cores, the models that are loaded later share the
// pool.
#pragma once

#include <string>

namespace tritonts::onnxruntime {

// The threads that one session has taken. Owned by the session, used by one thread at a time.
class PoolThreads {
 public:
  PoolThreads() = default;
  ~PoolThreads() { Return(); }
  PoolThreads(const PoolThreads&) = delete;
  PoolThreads& operator=(const PoolThreads&) = delete;

  // Takes `count` threads for a session of this model. False: the process has fewer left. While a
  // model is reloaded, it has an old and a new session, so every second one of a model counts
  // nothing: it may always take as many as the first. Called while nothing is taken.
  bool Take(const std::string& model, int count);
  // Returns them. Nothing happens if nothing is taken.
  void Return();

  bool taken() const { return !model_.empty(); }

 private:
  std::string model_;  // empty: nothing is taken
};

}  // namespace tritonts::onnxruntime
