#include "engine/scheduling/batch_rule.h"

#include <algorithm>
#include <utility>

namespace tritonts {

BatchRule::BatchRule(DynamicPolicy policy) : policy_(std::move(policy)) {
  // Prevents overflow where a very long delay is added to a time.
  policy_.max_queue_delay_ns = std::min(policy_.max_queue_delay_ns, UINT64_MAX / 4);
  std::sort(policy_.preferred_batch_sizes.begin(), policy_.preferred_batch_sizes.end());
  if (policy_.preferred_batch_sizes.empty() && policy_.max_batch_size > 0) {
    policy_.preferred_batch_sizes.push_back(policy_.max_batch_size);
  }
}

BatchRule::Walk BatchRule::WalkQueue(Request* first, uint32_t instance,
                                     std::vector<Request*>* list) const {
  Walk walk;
  const std::vector<uint32_t>& sizes = policy_.preferred_batch_sizes;
  const uint64_t most = policy_.max_batch_size;
  size_t next_size = 0;  // index of the first size that is not reached
  uint64_t total = 0;
  uint64_t passed_rows = 0;
  const RequestHeader* const wanted = first->header;
  const RequestHeader* other = nullptr;  // header of the last request of another shape
  const Request* last = nullptr;         // the last request that joined
  BatchHook* const hook = policy_.hook;
  walk.oldest_ns = wanted->arrival_ns;
  // Requests that share a header, as most neighbours do, are handled together.
  for (Request* request = first; request;) {
    const RequestHeader* const header = request->header;
    const uint64_t rows = header->batch_size;
    const bool alike =
        header == wanted || (header != other && header->shape_key == wanted->shape_key);
    if (!alike) {
      if (!policy_.across_shapes || walk.passed == kMostPassed || !MayPass(*first, *request)) {
        const bool level = walk.passed > 0 && !SamePart(*first, *request);
        return walk.Close(level ? ClosedBy::kPriority : ClosedBy::kShape);
      }
      other = header;
      walk.passed++;
      passed_rows += rows;
      walk.passed_oldest_ns = std::min(walk.passed_oldest_ns, header->arrival_ns);
      request = ForInstance(request->next, instance);
      continue;
    }
    if (walk.passed > 0 && !MayPass(*first, *request)) {
      const bool level = !SamePart(*first, *request);
      return walk.Close(level ? ClosedBy::kPriority : ClosedBy::kShape);
    }
    // A request that is too large for any batch runs alone.
    if (total > 0 && rows > most - total) return walk.Close(ClosedBy::kFull);
    if (hook && !hook->Includes(*request) && total > 0) return walk.Close(ClosedBy::kCustom);
    if (walk.neighbours && last && request->previous != last) {
      walk.neighbours = false;
      Request* before = first;
      for (size_t i = 0; i < walk.fits; i++, before = before->next) list->push_back(before);
    }
    walk.oldest_ns = std::min(walk.oldest_ns, header->arrival_ns);
    const uint64_t before = total;
    const size_t fitted = walk.fits;
    // After a request was passed over, each further request is checked by itself. So are all with
    // a hook.
    const bool alone = walk.passed > 0 || hook;
    const uint64_t room = alone ? 1 : (most - std::min(most, total)) / rows;
    const size_t fit = fitted + std::max<uint64_t>(1, room);
    Request* behind = request;
    do {
      if (!walk.neighbours) list->push_back(behind);
      walk.fits++;
      last = behind;
      behind = behind->next;
    } while (walk.fits < fit && behind && behind->header == header && Runs(behind, instance));
    total += (walk.fits - fitted) * rows;
    for (; next_size < sizes.size() && sizes[next_size] <= total; next_size++) {
      const uint64_t more = sizes[next_size] - before;
      if (more % rows == 0) walk.preferred = fitted + more / rows;
    }
    if (total >= most) return walk.Close(ClosedBy::kFull);
    request = ForInstance(behind, instance);
  }
  if (total >= sizes.back()) return walk.Close(ClosedBy::kPreferred);
  if (walk.passed > 0) {
    walk.closed_by = ClosedBy::kShape;
    walk.closed = passed_rows >= sizes.front();
  }
  return walk;
}

BatchChoice BatchRule::Choose(Request* head, uint32_t instance, uint64_t now_ns,
                              std::vector<Request*>* list) const {
  BatchChoice choice;
  choice.first = ForInstance(head, instance);
  if (!choice.first) return choice;
  choice.take = 1;
  choice.closed_by = ClosedBy::kFull;
  if (policy_.max_batch_size == 0) return choice;
  if (policy_.hook) policy_.hook->Begin();
  const Walk walk = WalkQueue(choice.first, instance, list);
  if (policy_.hook) policy_.hook->End();
  const bool delays = policy_.max_queue_delay_ns > 0;
  const bool late = DelayIsOver(walk.oldest_ns, now_ns);
  choice.neighbours = walk.neighbours;
  if (walk.preferred > 0 && !late) {
    choice.take = walk.preferred;
    const bool full = walk.preferred == walk.fits && walk.closed_by == ClosedBy::kFull;
    choice.closed_by = full ? ClosedBy::kFull : ClosedBy::kPreferred;
  } else if (walk.closed || late || !delays || DelayIsOver(walk.passed_oldest_ns, now_ns)) {
    choice.take = walk.fits;
    choice.closed_by = walk.closed || !delays ? walk.closed_by : ClosedBy::kDelay;
  } else {
    choice.take = 0;
    choice.wake_at_ns =
        std::min(walk.oldest_ns, walk.passed_oldest_ns) + policy_.max_queue_delay_ns;
  }
  return choice;
}

}  // namespace tritonts
