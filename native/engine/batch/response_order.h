// Delivers a version's responses in the order of its requests (preserve_ordering). Responses to a
// request are held until every request that was taken from the queue earlier has had its final
// response.
//
//   runs, as they were taken   [ a b c d ]   [ e f ]   [ g h ]
//                                    ^ whose turn it is
//   responses that are held            d        f       g h
//
// A request has a place in the order from when a run gets it. A request that ends in the queue
// (cancelled, expired) has no place, and its response is delivered at once. A place is passed with
// the request's final response, whatever its status, or when the run returns the request to the
// queue.
//
// One thread at a time delivers, also the responses of other threads, so that no thread waits for
// another. Held responses stay in the runs' own memory; the order itself does not allocate.
//
// Thread-safe, except Join and Leave. The lock guards lists and places briefly; sinks are called
// without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/base/spin_lock.h"

namespace tritonts {

// Responses that a run delivers together: one to each of some requests.
struct OrderedResponses {
  std::vector<uint32_t> positions;  // of the requests in their run, ascending
  bool is_final = true;             // whether all of these responses are final; otherwise none is

 private:
  friend class ResponseOrder;
  size_t given_ = 0;
  OrderedResponses* next_held_ = nullptr;
};

class OrderedRun {
 protected:
  friend class ResponseOrder;
  ~OrderedRun() = default;

  // Reserves places for `requests` requests. Throws std::bad_alloc.
  void ReservePlaces(size_t requests) { places_.reserve(requests); }

  // All called without the order's lock. Give passes `count` of the responses, from index `first`
  // on, to their sinks.
  virtual void Give(OrderedResponses* responses, size_t first, size_t count) = 0;
  // Called when all of these responses were given.
  virtual void GaveAll(OrderedResponses* responses) = 0;
  // Called at the turn of a request for which Skip or Await announced this call.
  virtual void TakeTurn(uint32_t position) = 0;
  // Called when the run has passed; the order no longer refers to it.
  virtual void Passed() = 0;

 private:
  enum class Place : uint8_t { kOpen, kOver, kAwaited };

  // Guarded by the order's lock.
  std::vector<Place> places_;
  size_t turn_ = 0;  // positions before this one are passed
  OrderedRun* next_run_ = nullptr;
  OrderedResponses* first_held_ = nullptr;
  OrderedResponses* last_held_ = nullptr;
};

class ResponseOrder {
 public:
  // Adds places for a run's requests, behind those of all others, or directly behind those of
  // `behind`, which still has open ones. Serialized by the version's lock.
  void Join(OrderedRun* run, size_t requests, OrderedRun* behind = nullptr);
  // Removes the places of a run that never began. Called with the version's lock; afterwards the
  // caller must call Go without that lock.
  void Leave(OrderedRun* run);

  // Delivers these responses, and those that become due thereby, if it is their turn. False: it is
  // not, and nothing was done.
  bool GiveNow(OrderedRun* run, OrderedResponses* responses);
  // Holds responses until their turn; the caller must then call Go. The memory that they refer to
  // must stay valid. False: the order is open, and the caller delivers them itself.
  bool Hold(OrderedRun* run, OrderedResponses* responses);
  // Announces that the request gets no further response from this run; the caller must then call
  // Go. False: responses to it are held, and OrderedRun::TakeTurn is called after them.
  bool Skip(OrderedRun* run, uint32_t position);
  // Like Skip, but TakeTurn is called in any case. False: as for Hold.
  bool Await(OrderedRun* run, uint32_t position);
  // Delivers all due responses, unless another thread is delivering.
  void Go();
  // Stops holding responses, because abandoned runs would block them for ever.
  void Open();

 private:
  using Lock = std::unique_lock<SpinLock>;

  void GiveDue(Lock* lock);
  // Whether responses to the request at `position` are held.
  static bool Holds(const OrderedRun& run, uint32_t position);
  // Finds the held responses of `run` whose next position is `turn`; null: there are none. `before`
  // is set to their predecessor in the list, null for the first.
  static OrderedResponses* HeldAt(const OrderedRun& run, size_t turn, OrderedResponses** before);
  // Finds responses of a run that are due now: `count` of them, from index `first` on, which it
  // marks as passed. Null: none is due.
  static OrderedResponses* Due(OrderedRun* run, size_t* first, size_t* count);
  static void Pass(OrderedRun* run, const OrderedResponses& responses, size_t count);

  SpinLock lock_;  // guards all fields below, and the runs' fields for the order
  OrderedRun* first_ = nullptr;
  OrderedRun* last_ = nullptr;
  bool giving_ = false;  // whether a thread is delivering
  bool open_ = false;
};

}  // namespace tritonts
