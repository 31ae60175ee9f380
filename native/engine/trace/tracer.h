// The traces of a server: which requests are traced, by the settings of its models (Triton: trace
// settings).
//
// Most requests are chosen here, at their submission: each rate-th one of a setting. A front end
// asks before that (Choose), because it has time stamps of its own; so does an environment that
// makes spans of the traces, because only it knows the caller's context. Requests that a traced
// request causes are traced, too, as a part of its trace; others of that kind never are.
//
// Ownership: the server and its versions share ownership. Threads: any thread may call any
// function; the lock is held briefly.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/status.h"
#include "engine/request/request.h"
#include "engine/trace/trace_setting.h"
#include "engine/trace/trace_tree.h"
#include "engine/trace/trace_writer.h"

namespace tritonts {

class Tracer {
 public:
  // An update of a setting.
  struct Update {
    TraceSetting::Options options;
    // The number of traces that are left is what the replaced setting has left.
    bool keeps_left = false;
  };
  Tracer();
  ~Tracer();

  // Sets how requests of a model are traced; an empty name: of all models without a setting of
  // their own. Nothing: the model has no setting of its own any more; for the empty name: nothing
  // is traced. UNAVAILABLE: there is no thread for it. Throws std::bad_alloc.
  Status Set(const std::string& model, std::optional<Update> update);
  // Whether any request may have to be traced: by a setting, or as a part of a trace that has not
  // ended.
  bool on() const { return on_.load(std::memory_order_relaxed) || TraceTree::alive() > 0; }

  // Takes note of requests that are submitted to a model, before they are passed on. Requests of
  // one header are adjacent.
  void Begin(const TracedModel& model, std::span<Request* const> requests,
             uint64_t now_ns) noexcept;

  // --- For front ends. Counts the next request for a model. Returns its id if it is traced, else
  // 0. A context, as a traceparent, forces a trace if the setting makes spans. The caller passes
  // the id on with the request, and calls Release once, when it is finished with the trace. Throws
  // std::bad_alloc.
  int64_t Choose(const std::string& model, std::string_view context, std::string_view request_id);
  // Adds a time stamp to such a trace.
  void Note(uint64_t id, std::string_view name, uint64_t ns) noexcept;
  void Release(uint64_t id) noexcept;

  // Writes what waits, and completes all files (TraceWriter::Stop). Nothing is traced any more.
  void Stop() { writer_->Stop(kStopMs); }
  TraceWriter& writer() { return *writer_; }

 private:
  // How long Stop waits for the disk.
  static constexpr uint64_t kStopMs = 2000;

  // What was set for a model, or for all.
  struct Own {
    std::shared_ptr<TraceSetting> setting;  // null: it is not traced
    int64_t left = -1;                      // of a null setting: the traces that were left
    int64_t count_left() const { return setting ? setting->left.load() : left; }
  };
  const Own& OwnOf(std::string_view model) const;
  std::shared_ptr<TraceSetting> SettingOf(std::string_view model) const;
  // The tree that a front end has begun; null: there is none.
  std::shared_ptr<TraceTree> Chosen(uint64_t id) const;
  void BeginSome(const TracedModel& model, std::span<Request* const> requests,
                 const std::shared_ptr<TraceSetting>& setting, uint64_t now_ns);
  void Trace(const TracedModel& model, Request* request, TraceRef trace, uint64_t parent,
             uint64_t now_ns);

  const std::shared_ptr<TraceWriter> writer_;
  std::atomic<bool> on_{false};

  mutable std::mutex mutex_;  // guards all below
  Own general_;
  // A null setting: the model is not traced, whatever the general setting says.
  std::map<std::string, Own, std::less<>> models_;
  std::map<uint64_t, std::shared_ptr<TraceTree>> chosen_;
};

}  // namespace tritonts
