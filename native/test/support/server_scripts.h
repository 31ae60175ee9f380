// Shared by tests of a server's life: gates for runs, and results of callbacks.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "port_client.h"
#include "server_fixture.h"

namespace tritonts::test {

// A gate at which runs wait, on any number of threads.
class RunsGate {
 public:
  void Pass() {
    entered_++;
    open_.Wait();
  }
  void Open() { open_.Set(); }
  bool Entered(int count) {
    return Eventually([&] { return entered_ >= count; });
  }
  int entered() const { return entered_; }

 private:
  std::atomic<int> entered_{0};
  Event open_;
};

inline Script LoadThrough(const std::shared_ptr<RunsGate>& gate) {
  Script script;
  script.load = [gate](const ModelSpec&) {
    gate->Pass();
    return Status::Ok();
  };
  return script;
}

// The argument of a callback, once it was called.
template <typename T>
class Result {
 public:
  std::function<void(T)> Callback() {
    return [state = state_](T value) {
      {
        std::lock_guard lock(state->mutex);
        state->values.push_back(std::move(value));
      }
      state->came.Set();
    };
  }
  bool Wait() { return state_->came.Wait(); }
  bool came() { return state_->came.set(); }
  // The value. Fails the test unless there is exactly one.
  T Value() {
    CHECK(Wait());
    std::lock_guard lock(state_->mutex);
    CHECK_EQ(state_->values.size(), 1u);
    return state_->values.empty() ? T() : state_->values.front();
  }

 private:
  struct State {
    std::mutex mutex;  // guards values
    std::vector<T> values;
    Event came;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

using Keys = std::vector<ModelKey>;

inline PortInput OneFloat(float value = 1) {
  return {0, {1, 1}, BytesOf<float>({value})};
}

}  // namespace tritonts::test
