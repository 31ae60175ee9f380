// The tensors of a sequence that stay in the engine between its requests (Triton: implicit state).
//
// Each has a present value, which the running request reads, and a next one, which its response
// has set. The next value becomes the present one when the run has ended. So a run that fails
// leaves the state as it was, and a value is never written while it is read.
//
// Ownership: a Sequence owns its SequenceState. The state outlives the runs that read it, because
// a sequence is kept until its run has ended.
//
// Threads: a sequence has at most one request that runs. While it runs, only Keep is called, by
// the thread that responds to it. All other functions are called under the version's lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/status.h"
#include "engine/memory/buffer.h"
#include "engine/memory/pool.h"
#include "engine/request/budget.h"
#include "engine/scheduling/batch.h"
#include "engine/scheduling/sequence_policy.h"
#include "engine/sequences/overlay_list.h"

namespace tritonts {

class Sequence;

// A value of a state tensor.
struct StateValue {
  BlockRef block;
  size_t size = 0;
  std::vector<int64_t> shape;
};

// Why a state could not be kept.
enum class StateFault : uint8_t { kNone, kNoMemory, kOtherSize, kNoCopy };

class SequenceState {
 public:
  StateFault fault() const { return fault_; }

 private:
  friend class SequenceStates;

  struct Tensor {
    StateValue now;
    StateValue next;
    bool has_next = false;
  };

  std::vector<Tensor> tensors_;  // in the order of the policy's states
  uint64_t charged_ = 0;         // in the budget
  StateFault fault_ = StateFault::kNone;
};

// The states of all sequences of a version. It keeps the outputs that are the next states.
class SequenceStates final : public OutputKeeper {
 public:
  // `budget` is charged with the bytes of all states; null: they are not counted. It outlives this
  // object.
  SequenceStates(std::vector<SequenceStateSpec> specs, Budget* budget);

  uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // Makes the first state of a sequence. UNAVAILABLE: the budget has no room for it. Throws
  // std::bad_alloc.
  Status Begin(std::unique_ptr<SequenceState>* state);
  // Sets a state to the first one again. Does not allocate.
  void Restart(SequenceState* state) const;
  // Makes the next values the present ones, after the run has ended. Does not allocate.
  void Advance(SequenceState* state) const;
  // Drops the values, and gives back their charge.
  void Release(SequenceState* state);
  // Whether both states have the same shapes, without the batch dimension.
  bool Alike(const SequenceState& one, const SequenceState& other) const;

  // Adds the present values as inputs of a slot. Does not allocate.
  void Add(uint32_t slot, const SequenceState& state, OverlayList* overlays) const;
  // Prepares zeros for empty slots beside a slot with this state. False: there is no memory.
  bool MakeZeros(const SequenceState& like);
  // Adds zeros with the shapes of another slot's state.
  void AddZeros(uint32_t slot, const SequenceState& like, OverlayList* overlays) const;

  // --- The outputs of runs; any thread.
  std::span<const uint32_t> kept_outputs() const override { return kept_; }
  void Keep(const Request& request, uint32_t slot,
            std::span<const OutputTensor> outputs) noexcept override;

 private:
  // Gives `value` room for `size` bytes.
  StateFault Grow(SequenceState* state, StateValue* value, size_t size) noexcept;
  StateFault Set(SequenceState* state, size_t index, const OutputTensor& output) noexcept;

  const std::vector<SequenceStateSpec> specs_;
  const std::vector<uint32_t> kept_;  // the outputs of the states
  Budget* const budget_;
  BlockPool pool_;
  BlockRef zeros_;
  std::atomic<uint64_t> bytes_{0};
};

}  // namespace tritonts
