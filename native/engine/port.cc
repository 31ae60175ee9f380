#include "port.h"

#include <algorithm>
#include <cstring>

#include "model_version.h"
#include "port_memory.h"
#include "server.h"

namespace tritonts {

namespace {
constexpr size_t kStagingIdleBytes = size_t{64} << 20;

}  // namespace

Port::Port(std::shared_ptr<Server> server, std::function<void()> wake)
    : server_(std::move(server)),
      wake_(std::move(wake)),
      header_(PortMemory::Create(layout::kHeaderBytes)),
      submission_(PortMemory::Create(layout::kSubmissionWords * 4)),
      staging_(kStagingIdleBytes) {
  if (header_) std::memset(header_->data(), 0, header_->size());
}

Port::~Port() {
  TRITONTS_ASSERT(references_ == 0, "a port was freed with requests in flight");
}

Block* Port::AddSlab() {
  CheckThread();
  BlockRef slab = PortMemory::Create(layout::kSlabBytes);
  if (!slab) return nullptr;
  slabs_.push_back(std::move(slab));
  return slabs_.back().get();
}

Block* Port::Stage(size_t size, uint32_t* id) {
  CheckThread();
  BlockRef block = staging_.Acquire(size);
  if (!block) return nullptr;
  Block* result = block.get();
  if (free_stages_.empty()) {
    *id = static_cast<uint32_t>(staged_.size());
    staged_.push_back(std::move(block));
  } else {
    *id = free_stages_.back();
    free_stages_.pop_back();
    staged_[*id] = std::move(block);
  }
  return result;
}

void Port::Unstage(uint32_t id) {
  CheckThread();
  if (id >= staged_.size() || !staged_[id]) return;
  staged_[id].reset();
  free_stages_.push_back(id);
}

void Port::Cancel(uint32_t slot, uint32_t generation) {
  CheckThread();
  Request* request = RequestOf(slot);
  // Of a slot that was not used yet, the version is not known either.
  if (!request || request->generation != generation) return;
  const auto known = std::find_if(versions_.begin(), versions_.end(), [&](const auto& entry) {
    return entry.second.get() == request->version;
  });
  if (known != versions_.end()) known->second->Cancel(request);
}

void Port::ShowEpoch(uint32_t epoch) {
  std::atomic_ref<int32_t>(static_cast<int32_t*>(header_->data())[layout::kEpoch])
      .store(static_cast<int32_t>(epoch), std::memory_order_release);
}

void Port::AskEpoch() {
  Signal();
}

void Port::ShowClosed() {
  std::atomic_ref<int32_t>(static_cast<int32_t*>(header_->data())[layout::kClosed])
      .store(1, std::memory_order_release);
}

void Port::Acknowledge(uint32_t epoch) {
  CheckThread();
  if (epoch == acknowledged_.load(std::memory_order_relaxed)) return;
  acknowledged_.store(epoch, std::memory_order_release);
  // Versions that were retired before this epoch are not asked for again.
  std::erase_if(versions_, [&](const auto& entry) { return !server_->Serves(entry.first); });
  server_->WakeReaper();
}

void Port::Detach() {
  CheckThread();
  if (detached_.exchange(true)) return;
  // Who came before that is in `wake_`, which takes no time; who comes after it does not call it.
  while (signalling_ != 0) std::this_thread::yield();
  // The port may live on for long.
  looking_ = false;
  look_core_.reset();
  for (const auto& together : slots_) {
    if (!together) continue;
    for (const Request& request : std::span(together.get(), kSlotsTogether)) {
      if (request.state() == Request::State::kIdle) continue;
      Cancel(request.slot, request.generation);
    }
  }
  server_->WakeReaper();
  if (self_) Drop(1);
}

}  // namespace tritonts
