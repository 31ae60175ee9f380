// Requests of decoupled models: any number of responses, as fast as their callers read.
#include <algorithm>
#include <mutex>
#include <utility>

#include "engine/batch/run.h"

namespace tritonts {

void PooledRun::NoteSent(Response* response, std::span<const OutputTensor> outputs) {
  response->counted = StreamCount::kResponseBytes;
  for (const OutputTensor& output : outputs) response->counted += output.size;
  response->request->header->streams[response->request->position].NoteSent(response->counted);
}

void PooledRun::NoteFirst(uint32_t position, const BatchTimings& timings) {
  if (!streamed_.empty() && streamed_[position].first_ns == 0) {
    streamed_[position].first_ns = timings.exec_end_ns;
  }
}

void PooledRun::NoteResponse(uint32_t position, const Response& response, bool cancelled,
                             const BatchTimings& timings) {
  if (streamed_.empty() || requests_[position]->header->null_row) return;
  Streamed& streamed = streamed_[position];
  const uint64_t end = timings.exec_end_ns;
  const uint64_t ready = inputs_ready_ns_.load(std::memory_order_relaxed);
  uint64_t start = streamed.last_ns;
  if (start == 0) start = ready != 0 ? ready : timings.exec_start_ns;
  start = std::min(start, end);
  auto kind = ResponseCounts::Kind::kSuccess;
  if (response.empty) kind = ResponseCounts::Kind::kEmpty;
  if (!response.status.ok()) kind = ResponseCounts::Kind::kFail;
  if (cancelled) kind = ResponseCounts::Kind::kCancel;
  // What was marked before this response's time belongs to an earlier one.
  const uint64_t computed = computed_ns_.load(std::memory_order_relaxed);
  const bool outputs =
      kind == ResponseCounts::Kind::kSuccess || kind == ResponseCounts::Kind::kFail;
  const uint64_t infer_end = outputs && computed > start && computed < end ? computed : end;
  if (context_->responses) {
    context_->responses->Add(streamed.responses, kind, infer_end - start, end - infer_end);
  }
  streamed.responses++;
  streamed.last_ns = end;
}

bool PooledRun::AnyFull(uint32_t request) {
  std::lock_guard lock(lock_);
  const size_t past = request == kAll ? requests_.size() : size_t{request} + 1;
  for (size_t i = request == kAll ? 0 : request; i < past && i < phases_.size(); i++) {
    if (phases_[i] == Phase::kDone) continue;
    const Request& one = *requests_[i];
    if (one.header->streams && one.header->streams[one.position].ends_next()) return true;
  }
  return false;
}

void PooledRun::EndFull(uint32_t request) {
  const uint32_t past = request == kAll ? static_cast<uint32_t>(requests_.size()) : request + 1;
  for (uint32_t i = request == kAll ? 0 : request; i < past; i++) {
    if (AnyFull(i)) Send(i, unread_, true, false);
  }
}

void PooledRun::Respond(uint32_t request, const Status& status, bool final) {
  if (!decoupled_) {
    return Send(request, final || !status.ok() ? status : not_single_, true, false);
  }
  if (!status.ok() || !AnyFull(request)) return Send(request, status, final, false);
  // This reference keeps the run from being used for another batch when its last request ends.
  const RunRef self(*this);
  EndFull(request);
  Send(request, status, final, false);
}

void PooledRun::EndResponses(uint32_t request) {
  if (decoupled_) return Send(request, Status::Ok(), true, true);
  Send(request, not_single_, true, false);
}

std::optional<Unread> PooledRun::UnreadOf(uint32_t request, uint32_t next) {
  std::lock_guard lock(lock_);
  if (request >= phases_.size() || phases_[request] == Phase::kDone) return std::nullopt;
  const Request& one = *requests_[request];
  if (one.header->null_row || one.cancelled.load(std::memory_order_relaxed)) return std::nullopt;
  return one.header->streams ? one.header->streams[one.position].Ask(next) : Unread();
}

bool PooledRun::AwaitRead(uint32_t request, uint32_t at_most,
                          std::shared_ptr<ReadListener> listener) {
  Lock lock(lock_);
  // While it is seized nobody else ends it.
  if (!AwaitOpen(request, &lock) || request == kAll) return false;
  const Request& one = *requests_[request];
  if (!one.header->streams) return false;
  Seize(request);
  lock.unlock();
  const bool waits =
      one.header->streams[one.position].Await(at_most, std::move(listener), one.cancelled);
  lock.lock();
  Reopen(request);
  return waits;
}

}  // namespace tritonts
