#include "engine/batch/stream_pace.h"

#include <mutex>
#include <utility>

namespace tritonts {

bool StreamPace::AnyFull(uint32_t request) const {
  std::lock_guard lock(members_->lock());
  for (uint32_t i = members_->First(request); i < members_->Past(request); i++) {
    if (members_->done(i)) continue;
    const Request& one = *(*members_)[i];
    if (one.header->streams && one.header->streams[one.position].ends_next()) return true;
  }
  return false;
}

std::optional<Unread> StreamPace::UnreadOf(uint32_t request, uint32_t next) const {
  std::lock_guard lock(members_->lock());
  if (members_->done(request)) return std::nullopt;
  const Request& one = *(*members_)[request];
  if (one.header->null_row || one.cancelled.load(std::memory_order_relaxed)) return std::nullopt;
  return one.header->streams ? one.header->streams[one.position].Ask(next) : Unread();
}

bool StreamPace::AwaitRead(uint32_t request, uint32_t at_most,
                           std::shared_ptr<ReadListener> listener) {
  RunMembers::Lock lock(members_->lock());
  // While the request is seized, no other thread ends it.
  if (!members_->AwaitOpen(request, &lock) || request == Run::kAll) return false;
  const Request& one = *(*members_)[request];
  if (!one.header->streams) return false;
  members_->Seize(request);
  lock.unlock();
  const bool waits =
      one.header->streams[one.position].Await(at_most, std::move(listener), one.cancelled);
  lock.lock();
  members_->Reopen(request);
  return waits;
}

}  // namespace tritonts
