// Submits requests of a port: parses them (groups.cc), charges them and passes them to the
// versions.
#include <new>

#include "engine/base/clock.h"
#include "engine/port/port.h"
#include "engine/request/admission.h"
#include "engine/request/executor.h"

namespace tritonts {

Block* Port::StageInput(size_t size, uint32_t uid, uint32_t* id) {
  CheckThread();
  const auto known = executors_.find(uid);
  const std::shared_ptr<Executor> executor =
      known != executors_.end() ? known->second : host_->FindExecutor(uid);
  return inputs_.Stage(size, id, uid, executor ? executor->InputBlock(size) : BlockRef());
}

void Port::DropParsed() {
  for (size_t i = 0; i < version_count_; i++) {
    for (Request* request : versions_[i].requests) {
      request->header->ClearInputs();
      request->header->regions.reset();
      request->set_state(Request::State::kIdle);
      slots_.NoteTaken(request->header->slot, 1);
    }
    versions_[i].executor.reset();
  }
  for (const StagedBlock& block : staged_blocks_) inputs_.PutBack(block.id);
}

void Port::ReleaseBlocks() {
  for (const StagedBlock& block : staged_blocks_) {
    if (block.request->unserved) {
      inputs_.PutBack(block.id);
    } else {
      inputs_.Unstage(block.id);
    }
  }
}

void Port::RefuseSome() {
  for (size_t i = 0; i < version_count_; i++) {
    if (versions_[i].executor) continue;
    Response like;
    like.status = versions_[i].refusal;
    like.unserved = like.status.ok();
    if (like.unserved) {
      try {
        like.status = Status::Unavailable(Reason::kNotReady, "the model's version was unloaded");
      } catch (const std::bad_alloc&) {
        like.status = no_memory_;
      }
    }
    Refuse(versions_[i].requests, like);
    versions_[i].requests.clear();
  }
}

void Port::Charge() {
  uint64_t bytes = 0;
  for (size_t i = 0; i < version_count_; i++) bytes = SumBytes(bytes, versions_[i].bytes);
  if (budget_.Reserve(bytes)) return;
  // The call as a whole exceeds the limit. So charge requests one by one, in order.
  for (size_t i = 0; i < version_count_; i++) {
    VersionRequests& version = versions_[i];
    // RefuseSome has refused its requests.
    if (!version.executor) continue;
    const Admission admission(*version.executor, no_memory_);
    version.requests.resize(admission.Charge(&budget_, version.requests));
  }
}

Status Port::Submit(const int32_t* words, size_t count, const char* const* slab_sources, bool run,
                    bool* responded) {
  CheckThread();
  const uint64_t now = NowNs();
  flushes_++;
  copied_ = 0;
  version_count_ = 0;
  staged_blocks_.clear();
  Status status;
  try {
    status = Parse(SubmissionReader(words, count), slab_sources, now);
  } catch (const std::bad_alloc&) {
    status = no_memory_;
  }
  if (!status.ok()) {
    DropParsed();
    return status;
  }
  uint64_t accepted = 0;
  for (size_t i = 0; i < version_count_; i++) accepted += versions_[i].requests.size();
  if (!self_) {
    // Nothing is in flight yet, so no other thread uses these two fields.
    self_ = shared_from_this();
    references_ = 1;
  }
  references_.fetch_add(accepted, std::memory_order_relaxed);
  untaken_ += accepted;
  running_here_ = run;
  responded_here_ = false;
  RefuseSome();
  Charge();
  inline_time_.spent_ns = 0;
  for (size_t i = 0; i < version_count_; i++) {
    VersionRequests& version = versions_[i];
    if (version.has_calls && version.executor) {
      const Admission admission(*version.executor, no_memory_);
      version.requests.resize(admission.AdmitCalls(version.requests));
    }
    if (!version.requests.empty()) {
      version.executor->Submit(version.requests, now, run ? &inline_time_ : nullptr);
    }
    version.executor.reset();
  }
  ReleaseBlocks();
  running_here_ = false;
  if (!waker_.waits()) waker_.BeginWait(untaken_ > 0 ? now : 0);
  if (responded) *responded = responded_here_;
  return Status::Ok();
}

}  // namespace tritonts
