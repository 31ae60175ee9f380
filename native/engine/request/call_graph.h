// Calls: requests that a model makes while it runs a batch (Triton: BLS), and who waits for whom.
//
// A batch that makes calls is a caller. It occupies a place of its version (CallPlaces) until it
// ends, and waits for its calls. A call whose requests wait in a queue waits for any place of that
// version, a call whose requests run waits for those batches, and a call to an ensemble waits for
// the calls of its steps. A call is refused if it could end only after a batch that waits for it:
// if all places of its version are occupied by callers, and each of them waits, over whatever
// chain, for a call that could not go on either. So what is admitted can always go on, and one that
// is refused changes nothing. Batches without open calls are taken to end by themselves.
//
// Requests that no batch makes have no call (RequestHeader::call is null) and never come here.
//
// Ownership: a header shares its call, a call the one that its caller serves (the chain). The inbox
// of an instance owns the caller of a batch. Places are shared by whoever knows them.
//
// Threads: any thread may call any function. One mutex guards all calls, callers and places of the
// process, briefly. Nothing is called while it is held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"

namespace tritonts {

class Call;
class CallGraph;
class Caller;
class Request;

// Places of a version's instances for batches.
class CallPlaces {
 public:
  explicit CallPlaces(std::string model) : model_(std::move(model)) {}
  const std::string& model() const { return model_; }
  // There are `places` more of them.
  void Add(size_t places);

 private:
  friend class CallGraph;
  friend class Caller;
  const std::string model_;
  size_t count_ = 0;              // guarded by the graph's mutex, as all below
  std::vector<Caller*> callers_;  // not owned; batches that occupy a place and have made calls
};

// Requests of a batch that are calls themselves.
struct ServedCall {
  uint32_t first = 0;  // position in the batch
  uint32_t count = 0;
  std::shared_ptr<Call> call;
};

// A batch that makes calls.
class Caller {
 public:
  // The batch goes on, but its place is free: its responses follow.
  void LeavePlace();
  // The batch has ended: it waits for nothing, and can make no more calls. At most once.
  void End();

 private:
  friend class Call;
  friend class CallGraph;
  std::shared_ptr<CallPlaces> places_;
  std::vector<ServedCall> serves_;  // does not change until the end
  std::vector<uint32_t> numbers_;   // those that Name gave
  std::vector<Call*> open_;         // not owned: calls end before their headers are used again
  bool ended_ = false;
  // Of a search.
  uint64_t seen_ = 0;
  bool goes_on_ = false;
};

// The requests of one header that were made by a batch, or by an ensemble for such a request.
class Call {
 public:
  ~Call();
  // A call within this one: of the ensemble's step to a model. Throws std::bad_alloc.
  static std::shared_ptr<Call> Step(const std::shared_ptr<Call>& outer, const std::string& model);
  // Makes a call of a caller's number to a model. Null: the number is only a guess (kGuess), and
  // its batch has ended. Throws std::bad_alloc.
  static std::shared_ptr<Call> Make(uint32_t number, const std::string& model);

  // Lets these requests of its header be submitted to a model with these places (null: batches of
  // it make no calls). Not ok: why they must not be. Called once. Throws std::bad_alloc.
  Status Admit(std::shared_ptr<CallPlaces> places, std::span<Request* const> requests);
  // Requests from this position on were taken by an instance.
  void Took(uint32_t first, uint32_t count);
  // A request has ended.
  void Ended(uint32_t position);

 private:
  friend class CallGraph;
  friend class Caller;

  // The models from the first caller to this call.
  std::string Chain() const;

  std::string model_;               // that is called
  std::string by_;                  // that makes the call
  std::shared_ptr<Call> within_;    // the one that `by_` serves with it; null: it serves others
  uint32_t depth_ = 1;              // calls of models from the first one on
  std::shared_ptr<Caller> caller_;  // null: a step's
  bool gone_ = false;               // its batch had ended before
  // Guarded by the graph's mutex.
  bool open_ = false;
  std::shared_ptr<CallPlaces> places_;
  std::vector<bool> taken_;     // by position
  std::vector<bool> finished_;  // by position
  uint32_t waiting_ = 0;        // requests that are not taken
  uint32_t left_ = 0;           // requests that have not ended
  std::vector<Caller*> runs_;   // batches with its requests that have made calls
  std::vector<Call*> steps_;    // open calls within it
  // Of a search.
  uint64_t seen_ = 0;
  bool goes_on_ = false;
};

// All calls of the process.
class CallGraph {
 public:
  // The most calls that may be within each other.
  static constexpr uint32_t kMostDepth = 32;
  // Set in a number: that its batch makes the call was not said, only that nothing else ran.
  static constexpr uint32_t kGuess = 1u << 30;

  // The graph of the process, which is never destroyed.
  static CallGraph& Get();

  // A caller for a batch that occupies one of these places. Throws std::bad_alloc.
  std::shared_ptr<Caller> Begin(std::shared_ptr<CallPlaces> places, std::vector<ServedCall> serves);
  // A number for calls that a request of the batch makes (~0u: any of them), until the batch ends:
  // not at the same time. Throws std::bad_alloc.
  uint32_t Name(const std::shared_ptr<Caller>& caller, uint32_t position);

 private:
  friend class Call;
  friend class CallPlaces;
  friend class Caller;

  struct Named {
    std::shared_ptr<Caller> caller;
    std::shared_ptr<Call> serves;  // the call that the request is; null: it is none
  };

  // With the mutex: whether a call can go on as things are.
  bool GoesOn(Call* call);
  void See(Call* call);
  void See(Caller* caller);
  // With the mutex: takes a call out of the graph.
  void Close(Call* call);

  std::mutex mutex_;  // guards all below, and what the classes above say
  uint32_t last_ = 0;
  std::map<uint32_t, Named> named_;
  uint64_t search_ = 0;
  std::vector<Call*> calls_;  // that a search has come to
  std::vector<Caller*> callers_;
};

}  // namespace tritonts
