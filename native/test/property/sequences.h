// The model's sequence batcher: a second, minimal implementation of which sequence a request
// belongs to, which sequences have slots, and when they end.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "engine/scheduling/batch.h"

namespace tritonts::test {

struct Life;

struct SequenceSetup {
  bool direct = false;
  uint32_t slots = 1;  // of an instance
  uint64_t idle_ns = 0;
  uint32_t share = 0;  // direct: how many slots with a request start a batch; 0: any number does
  bool iterative = false;
  bool controls = false;  // input 1 is START, and input 2 the id
  bool state = false;     // the last input is the state, and output 1 the next one
};

class SequenceModel {
 public:
  // `ragged`: requests of any width run together.
  SequenceModel(const SequenceSetup& setup, uint32_t instances, uint64_t delay_ns, bool ragged)
      : setup_(setup), delay_ns_(delay_ns), ragged_(ragged), open_(instances, true) {}

  // An instance of this number comes: sequences of the backlog get its slots. Or it goes: its free
  // slots are given to nobody, and the sequences in the others stay.
  void Open(uint32_t instance);
  void Close(uint32_t instance) { open_[instance] = false; }
  // Whether a sequence is in a slot of the instance.
  bool Holds(uint32_t instance) const;

  // False: the request is refused.
  bool Queue(Life* life);
  // A request that runs waits again.
  void Again(Life* life);
  // Adds the requests of sequences whose time-out is over, and those that were cancelled with
  // another request, and ends sequences that were idle for too long.
  void Expire(uint64_t now_ns, std::vector<Life*>* expired, std::vector<Life*>* cancelled);
  // False: the request does not wait.
  bool Cancel(Life* life);
  // All waiting requests; their sequences end.
  std::vector<Life*> Drain();
  void Close();
  // These requests begin to run, or their run has ended.
  void Take(const std::vector<Life*>& batch);
  void Ended(const std::vector<Life*>& batch, uint64_t now_ns);
  // A request that runs leaves this state. Its sequence has it once the run has ended.
  void Keep(const Life* life, const std::vector<float>& state);
  // The state that a request that runs has got.
  std::vector<float> StateOf(const Life* life) const;
  // Whether the states of two requests that are first in their queues can be in one batch.
  bool Alike(const Life* one, const Life* other) const;

  // Oldest: the requests that may run on an instance, in their order.
  std::vector<Life*> Candidates(uint32_t instance) const;
  // Direct: the rows of an instance's next batch, null: an empty one; no rows: there is no batch.
  std::vector<Life*> Rows(uint32_t instance, uint64_t now_ns, ClosedBy* closed_by) const;

  std::vector<Life*> waiting() const;
  // When something is to be done without an instance; 0: never.
  uint64_t wake_ns() const;
  // When a batch of Rows starts although too few slots have requests; 0: never.
  uint64_t StartOf(uint32_t instance) const;

 private:
  struct One {
    uint64_t id = 0;  // 0: generated
    std::vector<Life*> queue;
    Life* runs = nullptr;
    int slot = -1;  // its index; -1: in the backlog
    uint32_t instance = 0;
    bool ended = false;
    uint64_t idle = 0;  // when it became idle, as a number; 0: it is not
    uint64_t idle_since_ns = 0;
    uint64_t expires_ns = 0;
    uint64_t ready = 0;  // the same: when its first request became a candidate
    std::vector<float> state = {0};
    std::vector<float> next;  // empty: the request that runs leaves the state as it is
  };

  One* Live(uint64_t id);
  // The width of the state that the first request of a queue gets.
  size_t WidthFor(const Life* first) const;
  One* In(uint32_t instance, uint32_t index) const;
  void Ready(One* one);
  // Gives a sequence the free slot with the lowest index, if there is one.
  void Place(One* one);
  void Remove(One* one);
  // Null: none is idle.
  One* LongestIdle() const;

  const SequenceSetup setup_;
  const uint64_t delay_ns_;
  const bool ragged_;
  mutable std::list<One> all_;  // in the order in which they began
  std::vector<bool> open_;      // by instance
  std::list<Life*> cancelled_;
  std::vector<bool> running_ = std::vector<bool>(8);  // direct, by instance
  uint64_t turns_ = 0;                                // the last number
  bool closed_ = false;
};

}  // namespace tritonts::test
