// Calls: requests that a model makes while it runs a batch (Triton: BLS), and which calls wait for
// which batches.
//
// A batch that makes calls is a caller. It occupies a place of its version (CallPlaces) until it
// ends, and waits for its calls. A call with queued requests waits for any place of the called
// version. A call with running requests waits for their batches. A call to an ensemble waits for
// the calls of its steps. A call is refused if it would deadlock: if callers occupy all places of
// its version, and each of them waits, directly or indirectly, for a call that cannot proceed
// either. So admitted calls can always proceed, and a refused call changes nothing. Batches without
// open calls are assumed to end by themselves.
//
// Requests that no batch makes have no call (RequestHeader::call is null) and do not use the call
// graph.
//
// Ownership: a header shares ownership of its call, and a call shares ownership of the outer call
// that its caller serves (the chain). The inbox of an instance owns the caller of a batch. Places
// have shared owners.
//
// Threads: any thread may call any function. One mutex guards all calls, callers and places of the
// process. It is held briefly, and no callback runs under it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "engine/request/trace_mark.h"

namespace tritonts {

class Call;
class CallGraph;
class Caller;
class Request;

// The places for batches in a version's instances.
class CallPlaces {
 public:
  explicit CallPlaces(std::string model) : model_(std::move(model)) {}
  const std::string& model() const { return model_; }
  // Adds `places` places.
  void Add(size_t places);

 private:
  friend class CallGraph;
  friend class Caller;
  const std::string model_;
  size_t count_ = 0;              // guarded by the graph's mutex, like all below
  std::vector<Caller*> callers_;  // not owned; batches that occupy a place and have made calls
};

// Adjacent requests of a batch that belong to one call.
struct ServedCall {
  uint32_t first = 0;  // position in the batch
  uint32_t count = 0;
  std::shared_ptr<Call> call;
};

// A batch that makes calls.
class Caller {
 public:
  // Frees the place of the batch before the batch ends, while its responses are still to come.
  void LeavePlace();
  // Notes that the batch has ended: it waits for nothing, and can make no more calls. Later calls
  // do nothing.
  void End();

 private:
  friend class Call;
  friend class CallGraph;
  std::shared_ptr<CallPlaces> places_;
  std::vector<ServedCall> serves_;  // constant until End
  TraceMarks<TraceParent> traces_;  // of traced requests of the batch; constant until End
  std::vector<uint32_t> numbers_;   // assigned by Name
  std::vector<Call*> open_;         // not owned: calls end before their headers are used again
  bool ended_ = false;
  // State of a search (CallGraph::GoesOn).
  uint64_t seen_ = 0;
  bool goes_on_ = false;
};

// The requests of one header that a batch made, or that an ensemble made to serve such requests.
class Call {
 public:
  ~Call();
  // Makes the call of an ensemble's step to `model`, to serve the requests of `outer`. Throws
  // std::bad_alloc.
  static std::shared_ptr<Call> Step(const std::shared_ptr<Call>& outer, const std::string& model);
  // Makes a call to `model` from the batch with this number (CallGraph::Name). Null: the number is
  // only a guess (kGuess), and its batch has ended. Throws std::bad_alloc.
  static std::shared_ptr<Call> Make(uint32_t number, const std::string& model);

  // Admits these requests of the call's header to a model with these places (null: the model's
  // batches make no calls). Not ok: the requests must not be submitted. Called once. Throws
  // std::bad_alloc.
  Status Admit(std::shared_ptr<CallPlaces> places, std::span<Request* const> requests);
  // An instance has taken `count` requests, from position `first` on.
  void Took(uint32_t first, uint32_t count);
  // The request at `position` has ended.
  void Ended(uint32_t position);
  // The trace of the request that makes the call. Constant.
  const TraceParent& trace() const { return trace_; }

 private:
  friend class CallGraph;
  friend class Caller;

  // The models from the first caller to this call.
  std::string Chain() const;

  std::string model_;               // the called model
  std::string by_;                  // the calling model
  std::shared_ptr<Call> within_;    // the outer call that this call serves; null: none
  uint32_t depth_ = 1;              // nested calls of models up to this one, without steps
  std::shared_ptr<Caller> caller_;  // the batch that makes the call; null: a step makes it
  bool gone_ = false;               // the batch had ended before the call was made
  TraceParent trace_;
  // Guarded by the graph's mutex.
  bool open_ = false;
  std::shared_ptr<CallPlaces> places_;
  std::vector<bool> taken_;     // by position
  std::vector<bool> finished_;  // by position
  uint32_t waiting_ = 0;        // requests that are not taken
  uint32_t left_ = 0;           // requests that have not ended
  std::vector<Caller*> runs_;   // callers whose batches contain requests of this call
  std::vector<Call*> steps_;    // open calls of the steps that serve this call
  // State of a search (CallGraph::GoesOn).
  uint64_t seen_ = 0;
  bool goes_on_ = false;
};

// All calls of the process.
class CallGraph {
 public:
  // The deepest nesting of calls that is allowed.
  static constexpr uint32_t kMostDepth = 32;
  // A bit of a number that was inferred: the sender did not name its batch, but no other batch was
  // running.
  static constexpr uint32_t kGuess = 1u << 30;

  // The graph of the process, which is never destroyed.
  static CallGraph& Get();

  // Makes the caller of a batch that occupies one of these places. `traces` has the traced requests
  // of the batch. Throws std::bad_alloc.
  std::shared_ptr<Caller> Begin(std::shared_ptr<CallPlaces> places, std::vector<ServedCall> serves,
                                TraceMarks<TraceParent> traces = {});
  // Assigns a number for calls that the request at `position` makes (~0u: any request of the
  // batch). The number is valid until the batch ends. Not concurrently with Caller::End. Throws
  // std::bad_alloc.
  uint32_t Name(const std::shared_ptr<Caller>& caller, uint32_t position);

 private:
  friend class Call;
  friend class CallPlaces;
  friend class Caller;

  struct Named {
    std::shared_ptr<Caller> caller;
    std::shared_ptr<Call> serves;  // the call that the request belongs to; null: none
    TraceParent trace;             // of the request; of any request of the batch: the first one's
  };

  // Whether a call can proceed in the present state. The mutex is held.
  bool GoesOn(Call* call);
  void See(Call* call);
  void See(Caller* caller);
  // Removes a call from the graph. The mutex is held.
  void Close(Call* call);

  std::mutex mutex_;  // guards all below, and members of the classes above that say so
  uint32_t last_ = 0;
  std::map<uint32_t, Named> named_;
  uint64_t search_ = 0;
  std::vector<Call*> calls_;  // reached by the present search
  std::vector<Caller*> callers_;
};

}  // namespace tritonts
