// Responses of a version in the order of its requests (preserve_ordering): those of a request are
// held until every request that was taken from the queue before it has had its final one.
//
//   runs, as they were taken   [ a b c d ]   [ e f ]   [ g h ]
//                                    ^ whose turn it is
//   responses that are held            d        f       g h
//
// A request has its place from when a run gets it; one that ends in the queue (cancelled, expired)
// has none, and is told so at once. A place is passed with the request's final response, whatever
// that says, or where the run gives the request back to the queue.
//
// Of all threads that bring responses one at a time gives them, those of others too, so no thread
// waits for another one. What is held lies in the runs' own memory: here nothing is allocated.
//
// Any thread, but for Join and Leave. The lock guards lists and places for moments; sinks are
// called without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/base/spin_lock.h"

namespace tritonts {

// Responses that a run gives in one go: one to each of some requests.
struct OrderedResponses {
  std::vector<uint32_t> positions;  // of the requests in their run, ascending
  bool is_final = true;             // all of them, or none

 private:
  friend class ResponseOrder;
  size_t given_ = 0;
  OrderedResponses* next_held_ = nullptr;
};

class OrderedRun {
 protected:
  friend class ResponseOrder;
  ~OrderedRun() = default;

  // Makes room for the places of `requests`. Throws std::bad_alloc.
  void ReservePlaces(size_t requests) { places_.reserve(requests); }

  // All without a lock of the order.
  // Hands some of the responses to their sinks, from the first-th on.
  virtual void Give(OrderedResponses* responses, size_t first, size_t count) = 0;
  // All of these were given.
  virtual void GaveAll(OrderedResponses* responses) = 0;
  // It is the turn of a request of which Skip or Await said that this is to be called then.
  virtual void TakeTurn(uint32_t position) = 0;
  // Nothing of the run is to come, and the order knows it no more.
  virtual void Passed() = 0;

 private:
  enum class Place : uint8_t { kOpen, kOver, kAwaited };

  // The order's lock.
  std::vector<Place> places_;
  size_t turn_ = 0;  // those before are passed
  OrderedRun* next_run_ = nullptr;
  OrderedResponses* first_held_ = nullptr;
  OrderedResponses* last_held_ = nullptr;
};

class ResponseOrder {
 public:
  // A run gets places for its requests, behind those of all others, or right behind those of
  // `behind`, which still has open ones. One after the other: the version's lock.
  void Join(OrderedRun* run, size_t requests, OrderedRun* behind = nullptr);
  // A run that never began gives its places back; Go is to be called afterwards, without the
  // version's lock, which is held now.
  void Leave(OrderedRun* run);

  // Gives these responses, and what that lets others have, where it is their turn now. False: it is
  // not, and nothing was done.
  bool GiveNow(OrderedRun* run, OrderedResponses* responses);
  // Keeps them until their turn; then Go is to be called. What they refer to must stay. False: the
  // order is open, and the caller gives them itself.
  bool Hold(OrderedRun* run, OrderedResponses* responses);
  // The request gets no response of this run any more; then Go is to be called. False: some are
  // held, and OrderedRun::TakeTurn is called behind these.
  bool Skip(OrderedRun* run, uint32_t position);
  // The same, but TakeTurn is called in any case. False: as for Hold.
  bool Await(OrderedRun* run, uint32_t position);
  // Gives what is due, unless somebody is at it.
  void Go();
  // From now on nothing is held: runs that never come back would hold it for ever.
  void Open();

 private:
  using Lock = std::unique_lock<SpinLock>;

  void GiveDue(Lock* lock);
  // The first of the run's that begin with the request `turn`, and what is held before it.
  static bool Holds(const OrderedRun& run, uint32_t position);
  static OrderedResponses* HeldAt(const OrderedRun& run, size_t turn, OrderedResponses** before);
  // Those whose turn it is; null: none. Of these `count` are due from `first` on, and are passed
  // then.
  static OrderedResponses* Due(OrderedRun* run, size_t* first, size_t* count);
  static void Pass(OrderedRun* run, const OrderedResponses& responses, size_t count);

  SpinLock lock_;  // guards all below, and what runs say of it
  OrderedRun* first_ = nullptr;
  OrderedRun* last_ = nullptr;
  bool giving_ = false;  // some thread is
  bool open_ = false;
};

}  // namespace tritonts
