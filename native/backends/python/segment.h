// The memory of a channel, and who holds places in it for longer than the channel needs them:
// outputs of answers, until JavaScript has them.
//
// Ownership: shared by the channel and the blocks below, which may outlive it. Any thread may drop
// a block.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/python/offset_heap.h"
#include "backends/python/protocol.h"
#include "engine/base/clock.h"
#include "engine/memory/buffer.h"
#include "engine/memory/pool.h"
#include "platform/shared_memory.h"

namespace tritonts::python {

struct Segment {
  platform::SharedMemory memory;
  std::mutex mutex;  // guards the next one; nothing is called with it
  OffsetHeap heap;   // down
  // Copies of large outputs, for who keeps them. JavaScript gives them back by the hundred, when
  // garbage is collected, and pages that are new cost more than the copy into them. So many are
  // kept until the instance is idle.
  BlockPool copies{size_t{256} << 20};
  std::atomic<uint64_t> copied_ns{0};  // when somebody asked for the pool last

  BlockPool* Copies() {
    copied_ns.store(NowNs(), std::memory_order_relaxed);
    return &copies;
  }
};

// What a batch was given, in the heap down and in memory of its version. It is free when the batch
// has ended and nobody holds the inputs that its answer passes on.
class BatchMemory final : public Block {
 public:
  struct Input {
    uint64_t place;
    uint64_t size;
    BlockRef block;
  };

  // Null: there is no memory, and the place is free.
  static BlockRef Create(std::shared_ptr<Segment> segment, uint64_t place,
                         std::vector<Input> inputs) {
    auto* const made = new (std::nothrow) BatchMemory(segment, place, std::move(inputs));
    if (made) return BlockRef::Adopt(made);
    const std::lock_guard lock(segment->mutex);
    segment->heap.Free(place);
    return {};
  }

  uint64_t place() const { return place_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  BlockPool* copies() const override { return segment_->Copies(); }

 private:
  BatchMemory(std::shared_ptr<Segment> segment, uint64_t place, std::vector<Input> inputs)
      : Block(segment->memory.data() + place, 0, MemoryKind::kShared),
        segment_(std::move(segment)),
        place_(place),
        inputs_(std::move(inputs)) {}

  void Dispose() override {
    {
      const std::lock_guard lock(segment_->mutex);
      segment_->heap.Free(place_);
    }
    delete this;
  }

  const std::shared_ptr<Segment> segment_;
  const uint64_t place_;
  const std::vector<Input> inputs_;
};

// The outputs of an answer that the stub has lent: it gets them back when nobody holds this.
class LentAnswer final : public Block {
 public:
  // Throws std::bad_alloc. `word` is where the stub looks (protocol.h).
  LentAnswer(std::shared_ptr<Segment> segment, uint64_t word)
      : Block(segment->memory.data() + word, 0, MemoryKind::kShared),
        segment_(std::move(segment)) {}
  BlockPool* copies() const override { return segment_->Copies(); }

 private:
  void Dispose() override {
    reinterpret_cast<std::atomic<uint32_t>*>(data())->store(1, std::memory_order_release);
    delete this;
  }

  const std::shared_ptr<Segment> segment_;
};

}  // namespace tritonts::python
