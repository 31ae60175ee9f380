// A sequence batcher without a version, for tables of its decisions. Requests have names, and a
// batch is the text of its slots: "a1 - b2" for a request of a, an empty slot, and one of b.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "check.h"
#include "engine/sequences/make_sequence_scheduler.h"
#include "engine/sequences/sequence_ids.h"
#include "units.h"

namespace tritonts::test {

// A request of a table.
struct SequenceStep {
  std::string name;
  SequenceId id;
  std::string flags;  // of "S" and "E"
  uint64_t at_us = 0;
  uint64_t timeout_us = 0;
  int64_t shape = 0;
  uint32_t rows = 1;

  // GCC 12 warns of members of lists of aggregates that it takes for uninitialized.
  SequenceStep(std::string step_name, SequenceId step_id, std::string step_flags, uint64_t at = 0,
               uint64_t timeout = 0, int64_t step_shape = 0, uint32_t step_rows = 1)
      : name(std::move(step_name)),
        id(std::move(step_id)),
        flags(std::move(step_flags)),
        at_us(at),
        timeout_us(timeout),
        shape(step_shape),
        rows(step_rows) {}
};

inline SequencePolicy PolicyOf(SequencePolicy::Strategy strategy, uint32_t slots) {
  SequencePolicy policy;
  policy.strategy = strategy;
  policy.slots = policy.max_batch_size = slots;
  policy.dynamic.max_batch_size = slots;
  return policy;
}

class SequenceBench {
 public:
  explicit SequenceBench(SequencePolicy policy, uint32_t instances = 1, Budget* budget = nullptr)
      : runs_(instances),
        scheduler_(MakeSequenceScheduler(std::move(policy), instances, "m", budget)) {}

  Scheduler& scheduler() { return *scheduler_; }
  SequenceCounts counts() const { return scheduler_->sequences(); }
  size_t waiting() const { return scheduler_->waiting(); }

  Status Enqueue(const SequenceStep& step) {
    RequestHeader& header = headers_.emplace_back();
    header.batch_size = step.rows;
    header.arrival_ns = step.at_us * kUs;
    header.timeout_ns = step.timeout_us * kUs;
    header.shape_key = {step.shape};
    header.AddMarks();
    SequenceMark& mark = header.marks()[0];
    mark.id = step.id;
    mark.start = step.flags.find('S') != std::string::npos;
    mark.end = step.flags.find('E') != std::string::npos;
    Request* const request = &requests_.emplace_back();
    request->header = &header;
    by_name_[step.name] = request;
    names_[request] = step.name;
    return scheduler_->Enqueue(request, header.arrival_ns);
  }
  SequenceBench& Add(const std::vector<SequenceStep>& steps) {
    for (const SequenceStep& step : steps) {
      const Status status = Enqueue(step);
      CHECK_EQ(status.message(), std::string());
    }
    return *this;
  }
  // Adds the requests "a1", "a2", … of a sequence: the text has the flags of each, by commas.
  SequenceBench& Sequence(const std::string& name, uint64_t number, const std::string& flags,
                          uint64_t at_us = 0) {
    int count = 0;
    size_t from = 0;
    while (from <= flags.size()) {
      const size_t to = std::min(flags.find(',', from), flags.size());
      Add({{name + std::to_string(++count), {number, ""}, flags.substr(from, to - from), at_us}});
      from = to + 1;
    }
    return *this;
  }
  // The next batch of an instance, which runs until Done; "": there is none.
  std::string Next(uint64_t at_us = 0, uint32_t instance = 0) {
    batch_.Clear();
    batch_.members.reserve(64);
    scheduler_->Next(instance, at_us * kUs, &batch_);
    wake_at_us = batch_.wake_at_ns / kUs;
    closed_by = batch_.closed_by;
    keeper = batch_.keeper;
    overlays.clear();
    for (const Overlay& overlay : batch_.overlays) overlays.push_back(overlay);
    if (!batch_.members.empty()) runs_[instance].push_back(batch_.sequences);
    return TextOf(batch_.members);
  }
  SequenceBench& Done(uint64_t at_us = 0, uint32_t instance = 0) {
    tritonts::Sequence* const sequences = runs_[instance].front();
    runs_[instance].pop_front();
    scheduler_->Finished(instance, at_us * kUs);
    scheduler_->Ended(sequences, at_us * kUs);
    return *this;
  }
  // Queues a running request again.
  void Again(const std::string& name, uint64_t at_us = 0) {
    CHECK(scheduler_->Enqueue(by_name_.at(name), at_us * kUs).ok());
  }
  // The requests that expire, and behind bars those that were cancelled with another one, and, if
  // there are any, those whose state could not be kept.
  std::string Expire(uint64_t at_us) {
    Expired expired;
    scheduler_->Expire(at_us * kUs, &expired);
    wake_at_us = expired.wake_at_ns / kUs;
    return TextOf(expired.requests) + "|" + TextOf(expired.cancelled) +
           (expired.broken.empty() ? "" : "|" + TextOf(expired.broken));
  }
  bool Cancel(const std::string& name) { return scheduler_->Cancel(by_name_.at(name)); }
  std::string Drain() {
    RequestChain chain;
    scheduler_->Drain(&chain);
    std::vector<Request*> all;
    while (!chain.empty()) all.push_back(chain.Pop());
    return TextOf(all);
  }
  const Request& request(const std::string& name) const { return *by_name_.at(name); }
  RequestHeader& header(const std::string& name) { return *by_name_.at(name)->header; }

  // Of the last call of Next or Expire.
  uint64_t wake_at_us = 0;
  ClosedBy closed_by = ClosedBy::kNothingMore;
  std::vector<Overlay> overlays;
  std::shared_ptr<OutputKeeper> keeper;

 private:
  std::string TextOf(const std::vector<Request*>& requests) const {
    std::string text;
    for (Request* one : requests) {
      text += (text.empty() ? "" : " ") + (one ? names_.at(one) : std::string("-"));
    }
    return text;
  }

  std::deque<RequestHeader> headers_;
  std::deque<Request> requests_;
  std::map<std::string, Request*> by_name_;
  std::map<const Request*, std::string> names_;
  std::vector<std::deque<tritonts::Sequence*>> runs_;
  std::unique_ptr<Scheduler> scheduler_;
  Batch batch_;
};

}  // namespace tritonts::test
