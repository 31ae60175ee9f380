// Flow control for decoupled models: the unread responses of their callers, and the listeners that
// wait until they are read.
//
// Owned by a run. Any thread that holds the run may call it, without the run's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "engine/backend.h"
#include "engine/batch/run_context.h"
#include "engine/batch/run_members.h"

namespace tritonts {

class StreamPace {
 public:
  explicit StreamPace(RunMembers* members) : members_(members) {}

  // Called under the version's lock.
  void Assign(const RunContext* context) {
    if (!unread_.SameAs(context->unread)) unread_ = context->unread;
  }

  // Whether a request that is not done has reached its limit of unread responses. `request` may be
  // kAll.
  bool AnyFull(uint32_t request) const;
  // The error that ends such a request; valid also when the version is gone.
  const Status& unread() const { return unread_; }
  // See Run::UnreadOf and Run::AwaitRead.
  std::optional<Unread> UnreadOf(uint32_t request, uint32_t next) const;
  bool AwaitRead(uint32_t request, uint32_t at_most, std::shared_ptr<ReadListener> listener);

 private:
  RunMembers* const members_;
  Status unread_;
};

}  // namespace tritonts
