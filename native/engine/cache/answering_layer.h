// The base of layers that answer requests themselves: it counts what they answered, for the
// statistics of the version, and answers requests with an error. Also what such layers share when
// they answer requests and store answers.
//
// Any thread may call any function.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/status.h"
#include "engine/memory/memory_copier.h"
#include "engine/request/layer.h"
#include "engine/request/response_sink.h"

namespace tritonts {

// Responses that are delivered together.
constexpr size_t kAnsweredTogether = 64;
// A port takes outputs from this size on as they are, instead of copying them to a page.
constexpr size_t kLargeOutput = size_t{64} << 10;

// The time between, or 0 if the clock of another thread was ahead.
inline uint64_t TimeBetween(uint64_t from_ns, uint64_t to_ns) {
  return to_ns > from_ns ? to_ns - from_ns : 0;
}

// Whether an answer can be stored: it is the only one, no error, in memory of the host, and outputs
// are all that it has, because entries have no parameters.
inline bool CanBeStored(const Response& response) {
  if (!response.status.ok() || !response.final || response.empty) return false;
  if (response.parameters) return false;
  return std::all_of(response.outputs.begin(), response.outputs.end(),
                     [](const OutputTensor& output) { return IsHostMemory(output.kind); });
}

class AnsweringLayer : public Layer {
 public:
  void AddTo(LayerCounts* counts) const noexcept override;

 protected:
  // The arguments are sums, as in LayerCounts. Called before the requests are answered.
  void CountHits(uint64_t hits, uint64_t lookup_ns, uint64_t request_ns, uint64_t queue_ns);
  void CountFailed(uint64_t requests, uint64_t ns, const Status& status);
  // Of a request that ran, and whose answer was inserted or not.
  void CountMiss(uint64_t lookup_ns, uint64_t insert_ns);
  // Answers requests that this layer has held, with an error, and counts them.
  void Fail(std::span<Request* const> requests, const Status& status);

 private:
  // LayerCounts, by its fields.
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> hit_ns_{0};
  std::atomic<uint64_t> misses_{0};
  std::atomic<uint64_t> miss_ns_{0};
  std::atomic<uint64_t> insert_ns_{0};
  std::atomic<uint64_t> request_ns_{0};
  std::atomic<uint64_t> queue_ns_{0};
  std::atomic<uint64_t> failed_{0};
  std::atomic<uint64_t> failed_ns_{0};
  std::atomic<uint64_t> cancels_{0};
  std::atomic<uint64_t> backend_failed_{0};
};

}  // namespace tritonts
