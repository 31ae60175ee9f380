// What happens to requests whose look-up has a result.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "engine/base/clock.h"
#include "engine/base/small_vector.h"
#include "engine/cache/remote_layer.h"

namespace tritonts {

// A request that was found. The memory of its outputs is the cache's, or that of the blocks.
struct RemoteLayer::Hit {
  Request* request = nullptr;
  uint64_t start_ns = 0;
  StoredAnswer answer;
  SmallVector<BlockRef, 1> blocks;
};

void RemoteLayer::Found(std::span<const RemoteCache::Lookup> lookups,
                        std::span<const std::span<const char>> values) noexcept {
  const uint64_t now_ns = NowNs();
  while (!lookups.empty()) {
    const size_t count = std::min(kAnsweredTogether, lookups.size());
    std::array<Taken, kAnsweredTogether> taken;
    size_t some = 0;
    for (size_t i = 0; i < count; i++) {
      Taken& one = taken[some];
      if (!Take(lookups[i].request, lookups[i].id, &one.held)) continue;
      one.request = const_cast<Request*>(lookups[i].request);  // it was given to this layer
      one.value = values.empty() ? std::span<const char>() : values[i];
      some++;
    }
    lookups = lookups.subspan(count);
    const bool failed = values.empty();
    if (!failed) values = values.subspan(count);
    if (some == 0) continue;
    if (!failed) {
      std::vector<Request*> passed;
      try {
        passed.reserve(some);
        Settle(std::span(taken).first(some), now_ns, &passed);
        if (!passed.empty()) Pass(passed, now_ns);
        continue;
      } catch (const std::bad_alloc&) {
        // None was answered yet.
      }
    }
    cache_->Note({.failed = some});
    std::array<Request*, kAnsweredTogether> all;
    for (size_t i = 0; i < some; i++) all[i] = taken[i].request;
    Pass(std::span(all).first(some), now_ns);
  }
}

void RemoteLayer::Settle(std::span<const Taken> taken, uint64_t now_ns,
                         std::vector<Request*>* passed) {
  std::vector<Hit> hits;
  hits.reserve(taken.size());
  KeyHead head(0, kStoredSeed);
  const RequestHeader* known = nullptr;
  RemoteCache::Counts counts;
  for (const Taken& one : taken) {
    counts.lookup_ns += TimeBetween(one.held.start_ns, now_ns);
    if (one.request->header != known) {
      known = one.request->header;
      head.Set(*known);
    }
    if (one.value.data()) {
      Hit& hit = hits.emplace_back();
      hit.request = one.request;
      hit.start_ns = one.held.start_ns;
      if (hit.answer.Read(one.value, *one.held.identity, head, *one.request, io_)) continue;
      hits.pop_back();
      counts.unusable++;
    }
    Lead(one, head, now_ns);
    passed->push_back(one.request);
  }
  counts.hits = hits.size();
  counts.misses = passed->size();
  cache_->Note(counts);
  if (!hits.empty()) AnswerHits(hits, now_ns);
}

void RemoteLayer::Lead(const Taken& taken, const KeyHead& head, uint64_t now_ns) noexcept {
  Running running;
  running.hash = taken.held.hash;
  running.identity = taken.held.identity;
  running.lookup_ns = TimeBetween(taken.held.start_ns, now_ns);
  running.rows = taken.request->header->batch_size;
  running.stored = StoredAnswer::Begin(*running.identity, head, *taken.request);
  if (running.stored.empty()) return;
  try {
    std::lock_guard lock(mutex_);
    running_.insert_or_assign(taken.request, std::move(running));
    running_count_.store(running_.size(), std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    // It runs, and is not stored.
  }
}

void RemoteLayer::AnswerHits(std::span<Hit> hits, uint64_t now_ns) {
  // A batch of no rows says that the answer was cached (port/port_layout.h).
  BatchTimings timings;
  timings.exec_start_ns = timings.compute_start_ns = now_ns;
  timings.compute_end_ns = timings.exec_end_ns = now_ns;
  std::array<Response, kAnsweredTogether> responses;
  uint64_t lookup_ns = 0;
  uint64_t request_ns = 0;
  uint64_t queue_ns = 0;
  size_t count = 0;
  for (Hit& hit : hits) {
    const uint64_t arrival_ns = hit.request->header->arrival_ns;
    lookup_ns += TimeBetween(hit.start_ns, now_ns);
    request_ns += TimeBetween(arrival_ns, now_ns);
    queue_ns += TimeBetween(arrival_ns, hit.start_ns);
    for (OutputTensor& output : hit.answer.outputs()) {
      if (output.size < kLargeOutput) continue;
      BlockRef block = cache_->pool().Acquire(output.size);
      if (!block) continue;  // the receiver copies it
      try {
        hit.blocks.push_back(std::move(block));
      } catch (const std::bad_alloc&) {
        continue;
      }
      std::memcpy(hit.blocks.back()->data(), output.data, output.size);
      output.data = hit.blocks.back()->data();
      output.block = hit.blocks.back().get();
    }
    Response& response = responses[count++];
    response.request = hit.request;
    response.outputs = hit.answer.outputs();
    response.timings = &timings;
  }
  // This precedes the responses, so that the statistics count a request before its caller has it.
  CountHits(count, lookup_ns, request_ns, queue_ns);
  Answer(std::span(responses).first(count));
}

}  // namespace tritonts
