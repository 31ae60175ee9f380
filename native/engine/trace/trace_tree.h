// A trace while its requests are under way: the request that was chosen, and those that it caused,
// such as the steps of an ensemble. They share ownership; when the last of them has ended, the
// trace goes to its setting's writer.
//
// Any thread may call any function. None throws: without memory the trace is dropped, and counted
// as such. The lock is held briefly, and nothing is called under it.
//
// Traces that end together, such as those of a batch, are handed to their writer together
// (TraceHandOver).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/spin_lock.h"
#include "engine/request/response_sink.h"
#include "engine/trace/trace_log.h"
#include "engine/trace/trace_setting.h"

namespace tritonts {

// The model that a traced request is for.
struct TracedModel {
  std::string_view name;
  int64_t version = 0;
  bool runs = true;  // false: an ensemble, which has no time stamps of computing
};

// While it exists, traces that end on its thread wait in it, and the destructor hands them over.
// The inner one of two on a thread does nothing.
class TraceHandOver {
 public:
  TraceHandOver();
  ~TraceHandOver();
  TraceHandOver(const TraceHandOver&) = delete;
  TraceHandOver& operator=(const TraceHandOver&) = delete;

  // Hands a trace over: now, or with others.
  static void Give(const std::shared_ptr<TraceSetting>& setting,
                   std::unique_ptr<TraceLog> log) noexcept;

 private:
  static constexpr size_t kMost = 64;

  void Flush() noexcept;

  static thread_local TraceHandOver* present_;

  std::shared_ptr<TraceSetting> setting_;  // of all that wait
  std::array<std::unique_ptr<TraceLog>, kMost> logs_;
  size_t count_ = 0;
  bool is_outer_ = false;
};

class TraceTree {
 public:
  // A new id, unique in the process.
  static uint64_t NewId() { return NewIds(1); }
  // The first of so many new ids, which follow it.
  static uint64_t NewIds(uint64_t count);
  // The traces of the process that have not ended.
  static uint64_t alive() { return alive_.load(std::memory_order_relaxed); }

  // The bytes that all traces of the process which have not ended may take. Beyond them, traces are
  // dropped.
  static constexpr size_t kMostLive = size_t{256} << 20;

  // Throws std::bad_alloc. `id` is the outermost request's, and `log` is empty. `counted`: the
  // setting has counted the trace as begun (TraceSetting::TakeOne).
  TraceTree(std::shared_ptr<TraceSetting> setting, std::unique_ptr<TraceLog> log, uint64_t id,
            bool counted, std::string_view context = {});
  ~TraceTree();
  TraceTree(const TraceTree&) = delete;
  TraceTree& operator=(const TraceTree&) = delete;

  const TraceSetting& setting() const { return *setting_; }
  uint64_t root() const { return root_; }
  bool wants_tensors() const { return setting_->options.tensors; }

  // A request begins: it arrived, and was queued.
  void Begin(uint64_t id, uint64_t parent, const TracedModel& model, std::string_view request_id,
             uint64_t arrival_ns, uint64_t queue_ns) noexcept;
  // It ended: with the times of its run, if there was one (`timings`), and with an error unless
  // `status` is ok.
  void Finish(uint64_t id, const BatchTimings* timings, const Status& status,
              uint64_t end_ns) noexcept;
  // A time stamp of a front end.
  void Note(uint64_t id, std::string_view name, uint64_t ns) noexcept;
  void Input(uint64_t id, std::string_view name, const InputTensor& input,
             const Request& request) noexcept;
  void Output(uint64_t id, std::string_view name, const OutputTensor& output) noexcept;
  // The request goes to another version, where it begins anew.
  void Undo(uint64_t id) noexcept;
  // The trace ends now, because a run that was abandoned keeps references to it for ever.
  void Close() noexcept;
  // Sets the id that the outermost request has for its sender.
  void SetRequestId(std::string_view request_id) noexcept;

 private:
  // Calls `add` with the log and the lock. What it needs has about this many bytes, which are not
  // in kOwnBytes.
  template <typename Add>
  void Record(size_t bytes, const Add& add) noexcept;

  // Drops the log. The lock is held.
  void Drop() noexcept;
  void AddTensor(uint64_t id, TracedTensor tensor) noexcept;

  static inline std::atomic<uint64_t> alive_{0};
  static inline std::atomic<size_t> live_bytes_{0};

  const std::shared_ptr<TraceSetting> setting_;
  const uint64_t root_;
  const bool counted_;

  SpinLock lock_;                  // guards all below
  std::unique_ptr<TraceLog> log_;  // null: there was no memory, or the trace has ended
  bool ended_ = false;
  std::string request_id_;
};

}  // namespace tritonts
