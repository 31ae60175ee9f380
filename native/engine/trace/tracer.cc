#include "engine/trace/tracer.h"

#include <new>
#include <utility>
#include <vector>

#include "engine/base/clock.h"
#include "engine/request/executor.h"
#include "engine/request/model_io.h"
#include "engine/request/trace_mark.h"
#include "engine/trace/log_pool.h"
#include "engine/trace/trace_sink.h"

namespace tritonts {

namespace {

// The parameter that tells a model the id of a request, for models that are told of it.
constexpr std::string_view kIdParameter = "triton_request_id";

std::string_view RequestIdOf(const Request& request) {
  const RequestParameter* const id = request.parameter(kIdParameter);
  const auto* const text = id ? std::get_if<std::string>(&id->value) : nullptr;
  return text ? *text : std::string_view();
}

// Makes the tree of a trace that was `counted` as begun, the first of so many that are expected.
// Throws std::bad_alloc.
std::shared_ptr<TraceTree> NewTree(const std::shared_ptr<TraceSetting>& setting, LogStock* logs,
                                   size_t expected, uint64_t id, bool counted,
                                   std::string_view context = {}) {
  try {
    return std::make_shared<TraceTree>(setting, logs->Take(expected), id, counted, context);
  } catch (const std::bad_alloc&) {
    if (counted) setting->GiveBack();
    throw;
  }
}

}  // namespace

Tracer::Tracer() : writer_(std::make_shared<TraceWriter>()) {}

Tracer::~Tracer() {
  Stop();
}

Status Tracer::Set(const std::string& model, std::optional<Update> update) {
  Own made;
  Own replaced;  // freed without the lock
  if (update) {
    TraceSetting::Options& options = update->options;
    if (update->keeps_left) {
      const std::lock_guard lock(mutex_);
      options.left = OwnOf(model).count_left();
    }
    made.left = options.left;
    if (options.timestamps || options.tensors) {
      if (!writer_->Start()) {
        return Status::Unavailable(Reason::kNoMemory, "the system has no thread to write traces");
      }
      made.setting = std::make_shared<TraceSetting>(std::move(options), writer_);
    }
  }
  const std::lock_guard lock(mutex_);
  if (model.empty()) {
    replaced = std::exchange(general_, std::move(made));
  } else if (update) {
    replaced = std::exchange(models_[model], std::move(made));
  } else if (const auto own = models_.find(model); own != models_.end()) {
    replaced = std::move(own->second);
    models_.erase(own);
  }
  bool on = general_.setting != nullptr;
  for (const auto& [name, own] : models_) on = on || own.setting != nullptr;
  on_.store(on, std::memory_order_relaxed);
  return Status::Ok();
}

const Tracer::Own& Tracer::OwnOf(std::string_view model) const {
  const auto own = models_.find(model);
  return own == models_.end() ? general_ : own->second;
}

std::shared_ptr<TraceSetting> Tracer::SettingOf(std::string_view model) const {
  const std::lock_guard lock(mutex_);
  return OwnOf(model).setting;
}

std::shared_ptr<TraceTree> Tracer::Chosen(uint64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto known = chosen_.find(id);
  return known == chosen_.end() ? nullptr : known->second;
}

void Tracer::Begin(const TracedModel& model, std::span<Request* const> requests,
                   uint64_t now_ns) noexcept {
  const std::shared_ptr<TraceSetting> setting = SettingOf(model.name);
  while (!requests.empty()) {
    size_t count = 1;
    while (count < requests.size() && requests[count]->header == requests.front()->header) count++;
    const auto some = requests.first(count);
    requests = requests.subspan(count);
    try {
      BeginSome(model, some, setting, now_ns);
    } catch (const std::bad_alloc&) {
      // Without memory the requests go on without a trace.
      some.front()->header->traces.reset();
    }
  }
}

void Tracer::BeginSome(const TracedModel& model, std::span<Request* const> requests,
                       const std::shared_ptr<TraceSetting>& setting, uint64_t now_ns) {
  RequestHeader& header = *requests.front()->header;
  if (header.null_row) return;
  HeaderTraces* const known = header.traces.get();
  if (known && known->chosen != 0) {
    if (auto tree = Chosen(known->chosen)) {
      Trace(model, requests.front(), {std::move(tree), known->chosen}, 0, now_ns);
    }
  } else if (known && !known->parents.empty()) {
    for (Request* request : requests) {
      const auto* const parent = FindMark(&known->parents, request->position);
      auto tree = parent ? parent->trace.tree.lock() : nullptr;
      if (!tree) continue;
      Trace(model, request, {std::move(tree), TraceTree::NewId()}, parent->trace.id, now_ns);
    }
  } else if (!header.inner && setting && !setting->options.spans) {
    const uint64_t asked = setting->TakeAsked(requests.size());
    const auto counted = requests.subspan(static_cast<size_t>(asked));
    LogStock logs;
    uint64_t id = 0;
    setting->Count(counted.size(), [&](size_t at) {
      // If the count of the setting ends before that, ids are left out.
      const size_t expected = (counted.size() - at - 1) / setting->options.rate + 1;
      id = id == 0 ? TraceTree::NewIds(expected) : id + 1;
      Trace(model, counted[at], {NewTree(setting, &logs, expected, id, true), id}, 0, now_ns);
    });
  }
  if (!header.traces) return;
  if (header.traces->own.empty()) {
    header.traces.reset();
  } else {
    TraceSink::Enclose(requests, model.runs);
  }
}

void Tracer::Trace(const TracedModel& model, Request* request, TraceRef trace, uint64_t parent,
                   uint64_t now_ns) {
  RequestHeader& header = *request->header;
  if (!header.traces) header.traces = std::make_unique<HeaderTraces>();
  TraceTree& tree = *trace.tree;
  const uint64_t id = trace.id;
  header.traces->own.push_back({request->position, std::move(trace)});
  tree.Begin(id, parent, model, RequestIdOf(*request), header.arrival_ns, now_ns);
  if (!tree.wants_tensors() || request->sequence().any()) return;
  for (const InputTensor& input : request->inputs()) {
    tree.Input(id, header.executor->io().inputs[input.index].name, input, *request);
  }
}

int64_t Tracer::Choose(const std::string& model, std::string_view context,
                       std::string_view request_id) {
  const std::shared_ptr<TraceSetting> setting = SettingOf(model);
  if (!setting) return 0;
  bool counted = false;
  if (!setting->options.spans || context.empty()) {
    setting->Count(1, [&](size_t) { counted = true; });
    if (!counted && setting->options.spans) return -setting->Skip();
    if (!counted) setting->NoteAsked();
    if (!counted) return 0;
  }
  const uint64_t id = TraceTree::NewId();
  LogStock logs;
  auto tree = NewTree(setting, &logs, 1, id, counted,
                      setting->options.spans ? context : std::string_view());
  tree->SetRequestId(request_id);
  const std::lock_guard lock(mutex_);
  chosen_.emplace(id, std::move(tree));
  return static_cast<int64_t>(id);
}

void Tracer::Note(uint64_t id, std::string_view name, uint64_t ns) noexcept {
  if (const auto tree = Chosen(id)) tree->Note(id, name, ns);
}

void Tracer::Release(uint64_t id) noexcept {
  std::shared_ptr<TraceTree> tree;  // freed without the lock
  const std::lock_guard lock(mutex_);
  const auto known = chosen_.find(id);
  if (known == chosen_.end()) return;
  tree = std::move(known->second);
  chosen_.erase(known);
}

}  // namespace tritonts
