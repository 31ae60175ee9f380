// The pace of the callers of decoupled models: what they have not read, and who waits until they
// have.
//
// A run owns it. Any thread that holds the run calls it, without the run's lock.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "engine/backend.h"
#include "engine/batch/run_context.h"
#include "engine/batch/run_members.h"

namespace tritonts {

class StreamPace {
 public:
  explicit StreamPace(RunMembers* members) : members_(members) {}

  // With the version's lock.
  void Assign(const RunContext* context) {
    if (!unread_.SameAs(context->unread)) unread_ = context->unread;
  }

  // Counts a response to a decoupled request as unread. With the run's lock.
  static void NoteSent(Response* response, std::span<const OutputTensor> outputs);
  // Whether a request that is not done has as much unread as may be. `request` may be kAll.
  bool AnyFull(uint32_t request) const;
  // What ends such a request; valid also when the version is gone.
  const Status& unread() const { return unread_; }
  // As Run's functions of these names.
  std::optional<Unread> UnreadOf(uint32_t request, uint32_t next) const;
  bool AwaitRead(uint32_t request, uint32_t at_most, std::shared_ptr<ReadListener> listener);

 private:
  RunMembers* const members_;
  Status unread_;
};

}  // namespace tritonts
