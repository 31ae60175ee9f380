// Requests whose lazy model is not loaded at the moment: they wait while JavaScript loads it, and
// are submitted then. Requests that are submitted behind them do not overtake them.
//
// Ownership: a model (model.h) has one list. A request in it has the reference of its submission
// and is listed at its attachment, as one that the engine has. Any thread may call any function.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace tritonts::c_api {

class ApiRequest;

class Sleepers {
 public:
  enum class Added {
    kFirst,      // the caller has the model loaded
    kWaits,      // somebody has it loaded
    kCancelled,  // it was cancelled before: it is not in the list
  };
  // Adds a request that is being submitted. Throws std::bad_alloc without effect.
  Added Add(ApiRequest* request);
  // Removes a request whose cancellation has claimed it.
  void Remove(ApiRequest* request) noexcept;
  // Takes out a request that was added. False: a cancellation has claimed it, and ends it.
  bool Withdraw(ApiRequest* request) noexcept;
  // Takes all requests that no cancellation has claimed. They are being submitted again. EndPass
  // follows when they were submitted.
  std::vector<ApiRequest*> Take() noexcept;
  void EndPass() noexcept;
  // Whether a request has to be added although its model is loaded, because earlier ones of the
  // model wait. While another thread submits them, it waits for that.
  bool Holds() noexcept;

 private:
  void NoteBusy() noexcept;  // the lock is held

  std::atomic<bool> busy_{false};  // earlier requests wait, or are being submitted
  std::mutex mutex_;               // guards all below
  bool asked_ = false;
  uint32_t passes_ = 0;  // between Take and EndPass
  std::vector<ApiRequest*> all_;
};

}  // namespace tritonts::c_api
