#include "engine/cache/answering_layer.h"

#include <array>

#include "engine/base/clock.h"

namespace tritonts {

void AnsweringLayer::CountHits(uint64_t hits, uint64_t lookup_ns, uint64_t request_ns,
                               uint64_t queue_ns) {
  hits_.fetch_add(hits, std::memory_order_relaxed);
  hit_ns_.fetch_add(lookup_ns, std::memory_order_relaxed);
  request_ns_.fetch_add(request_ns, std::memory_order_relaxed);
  queue_ns_.fetch_add(queue_ns, std::memory_order_relaxed);
}

void AnsweringLayer::CountFailed(uint64_t requests, uint64_t ns, const Status& status) {
  failed_.fetch_add(requests, std::memory_order_relaxed);
  failed_ns_.fetch_add(ns, std::memory_order_relaxed);
  if (status.code() == Code::kCancelled) {
    cancels_.fetch_add(requests, std::memory_order_relaxed);
  } else if (status.code() != Code::kUnavailable) {
    backend_failed_.fetch_add(requests, std::memory_order_relaxed);
  }
}

void AnsweringLayer::CountMiss(uint64_t lookup_ns, uint64_t insert_ns) {
  misses_.fetch_add(1, std::memory_order_relaxed);
  miss_ns_.fetch_add(lookup_ns + insert_ns, std::memory_order_relaxed);
  insert_ns_.fetch_add(insert_ns, std::memory_order_relaxed);
}

void AnsweringLayer::Fail(std::span<Request* const> requests, const Status& status) {
  const uint64_t now_ns = NowNs();
  uint64_t ns = 0;
  for (const Request* request : requests) ns += TimeBetween(request->header->arrival_ns, now_ns);
  CountFailed(requests.size(), ns, status);
  while (!requests.empty()) {
    std::array<Response, kAnsweredTogether> responses;
    const auto some = requests.first(std::min(kAnsweredTogether, requests.size()));
    requests = requests.subspan(some.size());
    for (size_t i = 0; i < some.size(); i++) {
      responses[i].request = some[i];
      responses[i].status = status;
    }
    Answer(std::span(responses).first(some.size()));
  }
}

void AnsweringLayer::AddTo(LayerCounts* counts) const noexcept {
  const auto add = [](uint64_t* to, const std::atomic<uint64_t>& from) {
    *to += from.load(std::memory_order_relaxed);
  };
  add(&counts->hits, hits_);
  add(&counts->hit_ns, hit_ns_);
  add(&counts->misses, misses_);
  add(&counts->miss_ns, miss_ns_);
  add(&counts->insert_ns, insert_ns_);
  add(&counts->request_ns, request_ns_);
  add(&counts->queue_ns, queue_ns_);
  add(&counts->failed, failed_);
  add(&counts->failed_ns, failed_ns_);
  add(&counts->cancelled, cancels_);
  add(&counts->backend_failed, backend_failed_);
}

}  // namespace tritonts
