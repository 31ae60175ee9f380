#include "python/shared_inputs.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "python/protocol.h"

namespace tritonts::python {

namespace {

constexpr uint64_t kMostInputBytes = uint64_t{16} << 30;
constexpr uint64_t kLeastInputBytes = uint64_t{64} << 20;
constexpr uint64_t kIdleInputsNs = 5'000'000'000;

constexpr uint64_t WholePages(uint64_t size) {
  return (std::max<uint64_t>(size, kPage) + kPage - 1) / kPage * kPage;
}

}  // namespace

class SharedInputs::Piece final : public Block {
 public:
  Piece(std::shared_ptr<SharedInputs> owner, uint64_t offset, size_t size)
      : Block(owner->memory_.data() + offset, size, MemoryKind::kShared),
        owner_(std::move(owner)),
        offset_(offset) {}

 private:
  void Dispose() override {
    owner_->Free(offset_);
    delete this;
  }

  const std::shared_ptr<SharedInputs> owner_;
  const uint64_t offset_;
};

bool SharedInputs::Prepare(const std::string& name, uint64_t initial_bytes, uint64_t growth_bytes,
                           platform::SharedMemory::Place place, std::string* fault) {
  const std::lock_guard lock(mutex_);
  if (ready_.load()) return true;
  if (!memory_.Create(name + "-inputs", kMostInputBytes, kLeastInputBytes, place, fault)) {
    return false;
  }
  initial_bytes_ = WholePages(initial_bytes);
  // Offset 0 is never allocated: it means failure.
  heap_ = OffsetHeap(
      kPage, memory_.size(), WholePages(growth_bytes),
      [this](uint64_t offset, uint64_t size, std::string* why) {
        return memory_.Commit(offset, size, why);
      },
      [this](uint64_t offset, uint64_t size) { memory_.Return(offset, size); });
  ready_.store(true);
  return true;
}

BlockRef SharedInputs::Acquire(size_t size) try {
  if (!ready_.load()) return {};
  std::string fault;
  uint64_t offset = 0;
  {
    const std::lock_guard lock(mutex_);
    asked_ns_ = NowNs();
    offset = heap_.Allocate(size, &fault);
  }
  if (offset == 0) return {};
  auto* const piece = new (std::nothrow) Piece(shared_from_this(), offset, size);
  if (!piece) Free(offset);
  return BlockRef::Adopt(piece);
} catch (const std::bad_alloc&) {
  return {};
}

void SharedInputs::Free(uint64_t offset) {
  const std::lock_guard lock(mutex_);
  heap_.Free(offset);
}

void SharedInputs::ShrinkIfIdle(uint64_t now_ns) {
  if (!ready_.load()) return;
  const std::lock_guard lock(mutex_);
  if (now_ns > asked_ns_ + kIdleInputsNs) heap_.Shrink(initial_bytes_);
}

int64_t SharedInputs::OffsetOf(const void* data, size_t size) const {
  if (!ready_.load()) return -1;
  const auto begin = reinterpret_cast<uintptr_t>(memory_.data());
  const auto at = reinterpret_cast<uintptr_t>(data);
  const bool within =
      at >= begin && at - begin <= memory_.size() && size <= memory_.size() - (at - begin);
  return within ? static_cast<int64_t>(at - begin) : -1;
}

uint64_t SharedInputs::used() {
  const std::lock_guard lock(mutex_);
  return heap_.used();
}

}  // namespace tritonts::python
