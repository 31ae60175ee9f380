#include "engine/request/call_graph.h"

#include <algorithm>
#include <new>
#include <utility>

#include "engine/request/request.h"

namespace tritonts {

namespace {

template <typename T>
void Remove(std::vector<T*>* list, T* one) {
  std::erase(*list, one);
}

}  // namespace

CallGraph& CallGraph::Get() {
  static auto* const graph = new CallGraph();
  return *graph;
}

void CallPlaces::Add(size_t places) {
  const std::lock_guard lock(CallGraph::Get().mutex_);
  count_ += places;
}

std::shared_ptr<Caller> CallGraph::Begin(std::shared_ptr<CallPlaces> places,
                                         std::vector<ServedCall> serves,
                                         TraceMarks<TraceParent> traces) {
  auto caller = std::make_shared<Caller>();
  caller->places_ = std::move(places);
  caller->serves_ = std::move(serves);
  caller->traces_ = std::move(traces);
  const std::lock_guard lock(mutex_);
  // Reserve first, so that a std::bad_alloc leaves nothing half done.
  caller->places_->callers_.reserve(caller->places_->callers_.size() + 1);
  for (const ServedCall& one : caller->serves_) one.call->runs_.reserve(one.call->runs_.size() + 1);
  caller->places_->callers_.push_back(caller.get());
  for (const ServedCall& one : caller->serves_) {
    if (one.call->open_) one.call->runs_.push_back(caller.get());
  }
  return caller;
}

uint32_t CallGraph::Name(const std::shared_ptr<Caller>& caller, uint32_t position) {
  std::shared_ptr<Call> serves;
  for (const ServedCall& one : caller->serves_) {
    const bool is_any = position == ~0u;
    if (!is_any && (position < one.first || position - one.first >= one.count)) continue;
    if (!serves || one.call->depth_ > serves->depth_) serves = one.call;
  }
  TraceParent trace;
  if (position == ~0u) {
    if (!caller->traces_.empty()) trace = caller->traces_.front().trace;
  } else if (const auto* const mark = FindMark(&caller->traces_, position)) {
    trace = mark->trace;
  }
  const std::lock_guard lock(mutex_);
  caller->numbers_.reserve(caller->numbers_.size() + 1);
  do {
    last_ = (last_ + 1) % kGuess;
  } while (last_ == 0 || named_.contains(last_));
  named_.emplace(last_, Named{caller, std::move(serves), std::move(trace)});
  caller->numbers_.push_back(last_);
  return last_;
}

void Caller::LeavePlace() {
  const std::lock_guard lock(CallGraph::Get().mutex_);
  Remove(&places_->callers_, this);
}

void Caller::End() {
  CallGraph& graph = CallGraph::Get();
  std::vector<CallGraph::Named> forgotten;  // dropped without the mutex
  std::vector<ServedCall> served;
  TraceMarks<TraceParent> traces;
  const std::lock_guard lock(graph.mutex_);
  if (std::exchange(ended_, true)) return;
  Remove(&places_->callers_, this);
  for (const ServedCall& one : serves_) Remove(&one.call->runs_, this);
  served.swap(serves_);
  traces.swap(traces_);
  for (const uint32_t number : numbers_) {
    const auto known = graph.named_.find(number);
    if (known == graph.named_.end()) continue;
    forgotten.push_back(std::move(known->second));
    graph.named_.erase(known);
  }
}

std::shared_ptr<Call> Call::Step(const std::shared_ptr<Call>& outer, const std::string& model) {
  auto call = std::make_shared<Call>();
  call->model_ = model;
  call->by_ = outer->model_;
  call->within_ = outer;
  call->depth_ = outer->depth_;
  return call;
}

std::shared_ptr<Call> Call::Make(uint32_t number, const std::string& model) {
  CallGraph& graph = CallGraph::Get();
  auto call = std::make_shared<Call>();
  call->model_ = model;
  const std::lock_guard lock(graph.mutex_);
  const auto known = graph.named_.find(number & ~CallGraph::kGuess);
  if (known == graph.named_.end()) {
    if ((number & CallGraph::kGuess) != 0) return nullptr;
    call->gone_ = true;
    return call;
  }
  const auto& [caller, serves, trace] = known->second;
  call->trace_ = trace;
  call->caller_ = caller;
  call->by_ = caller->places_->model();
  call->within_ = serves;
  if (serves) call->depth_ = serves->depth_ + 1;
  return call;
}

Call::~Call() {
  CallGraph& graph = CallGraph::Get();
  const std::lock_guard lock(graph.mutex_);
  graph.Close(this);
}

void CallGraph::Close(Call* call) {
  if (!std::exchange(call->open_, false)) return;
  if (call->caller_) Remove(&call->caller_->open_, call);
  if (!call->caller_ && call->within_) Remove(&call->within_->steps_, call);
  call->runs_.clear();
}

std::string Call::Chain() const {
  std::string text = model_;
  for (const Call* call = this; call; call = call->within_.get()) text = call->by_ + " → " + text;
  return text;
}

Status Call::Admit(std::shared_ptr<CallPlaces> places, std::span<Request* const> requests) {
  if (gone_) {
    return Status::Cancelled("model '" + model_ +
                             "': the request that makes this call (options.parent) has ended");
  }
  if (depth_ > CallGraph::kMostDepth) {
    return Status::InvalidArg("model '" + model_ + "': expected at most " +
                              std::to_string(CallGraph::kMostDepth) +
                              " calls within each other, and this is one more: " + Chain());
  }
  CallGraph& graph = CallGraph::Get();
  std::vector<bool> taken(requests.front()->header->requests, true);
  for (const Request* request : requests) taken[request->position] = false;
  std::vector<bool> finished = taken;
  const std::lock_guard lock(graph.mutex_);
  // A batch that has ended waits for nothing.
  if (caller_ && caller_->ended_) return Status::Ok();
  std::vector<Call*>& siblings = caller_ ? caller_->open_ : within_->steps_;
  siblings.push_back(this);
  open_ = true;
  places_ = std::move(places);
  taken_ = std::move(taken);
  finished_ = std::move(finished);
  waiting_ = left_ = static_cast<uint32_t>(requests.size());
  try {
    if (graph.GoesOn(this)) return Status::Ok();
  } catch (const std::bad_alloc&) {
    graph.Close(this);
    throw;
  }
  graph.Close(this);
  return Status::Unavailable(
      Reason::kCircularCall,
      "model '" + model_ +
          "': it could answer only after a request that waits for this call: " + Chain());
}

void Call::Took(uint32_t first, uint32_t count) {
  const std::lock_guard lock(CallGraph::Get().mutex_);
  if (!open_) return;
  for (uint32_t i = first; i < first + count && i < taken_.size(); i++) {
    if (taken_[i]) continue;
    taken_[i] = true;
    waiting_--;
  }
}

void Call::Ended(uint32_t position) {
  CallGraph& graph = CallGraph::Get();
  const std::lock_guard lock(graph.mutex_);
  if (!open_ || position >= taken_.size() || finished_[position]) return;
  if (!taken_[position]) waiting_--;
  taken_[position] = finished_[position] = true;
  if (--left_ == 0) graph.Close(this);
}

void CallGraph::See(Call* call) {
  if (std::exchange(call->seen_, search_) == search_) return;
  call->goes_on_ = false;
  calls_.push_back(call);
}

void CallGraph::See(Caller* caller) {
  if (std::exchange(caller->seen_, search_) == search_) return;
  caller->goes_on_ = false;
  callers_.push_back(caller);
}

bool CallGraph::GoesOn(Call* call) {
  const auto has_place = [](const Call& one) {
    return one.waiting_ == 0 || !one.places_ || one.places_->callers_.size() < one.places_->count_;
  };
  if (has_place(*call) && call->runs_.empty() && call->steps_.empty()) return true;
  search_++;
  calls_.clear();
  callers_.clear();
  See(call);
  // Collect all calls and callers that this call may have to wait for.
  for (size_t i = 0, k = 0; i < calls_.size() || k < callers_.size();) {
    if (i < calls_.size()) {
      const Call& one = *calls_[i++];
      for (Caller* run : one.runs_) See(run);
      for (Call* step : one.steps_) See(step);
      if (has_place(one)) continue;
      for (Caller* caller : one.places_->callers_) See(caller);
    } else {
      for (Call* open : callers_[k++]->open_) See(open);
    }
  }
  // Mark calls and callers that can proceed by themselves, then those that wait only for marked
  // calls and callers, and so on.
  const auto go_on = [](const auto& list) {
    return std::ranges::all_of(list, [](const auto* one) { return one->goes_on_; });
  };
  for (bool more = true; more && !call->goes_on_;) {
    more = false;
    for (Caller* caller : callers_) {
      if (caller->goes_on_ || !go_on(caller->open_)) continue;
      caller->goes_on_ = more = true;
    }
    for (Call* one : calls_) {
      if (one->goes_on_ || !go_on(one->runs_) || !go_on(one->steps_)) continue;
      if (!has_place(*one) && std::ranges::none_of(one->places_->callers_, &Caller::goes_on_)) {
        continue;
      }
      one->goes_on_ = more = true;
    }
  }
  return call->goes_on_;
}

}  // namespace tritonts
